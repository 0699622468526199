// Emulates Kinesis or SQS on a free port of loopback, and prints the port. It ends when its input
// ends. Arguments: the folder node_modules, and kinesis or sqs.
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, service] = process.argv.slice(2);
if (service === "kinesis") {
  const kinesalite = createRequire(import.meta.url)(join(modules, "kinesalite"));
  const server = kinesalite({ createStreamMs: 1, updateStreamMs: 1, deleteStreamMs: 1, shardLimit: 100 });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
} else {
  const { buildApp } = await import(join(modules, "fauxqs", "dist", "app.js"));
  const app = buildApp({ logger: false });
  await app.listen({ port: 0, host: "127.0.0.1" });
  console.log(app.server.address().port);
}
process.stdin.on("end", () => process.exit(0)).resume();

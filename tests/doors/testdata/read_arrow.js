// Reads an Arrow stream from standard input with the library of Arrow for JavaScript, and prints
// its columns and values as JSON.
const [, , library] = process.argv;
const arrow = require(library);

// exact returns a decimal of Arrow with all digits.
const exact = (value, scale) => {
  let n = 0n;
  for (let i = 3; i >= 0; i--) n = (n << 32n) | BigInt(value[i]);
  n = BigInt.asIntN(128, n);
  const digits = (n < 0n ? -n : n).toString().padStart(scale + 1, "0");
  const at = digits.length - scale;
  return (n < 0n ? "-" : "") + digits.slice(0, at) + (scale > 0 ? "." + digits.slice(at) : "");
};

const read = async () => {
  const reader = await arrow.RecordBatchReader.from(process.stdin);
  await reader.open();
  const columns = {};
  let batches = 0;
  for (const f of reader.schema.fields) {
    columns[f.name] = { type: String(f.type), kind: f.metadata.get("varve.kind"), values: [] };
  }
  for await (const batch of reader) {
    batches++;
    batch.schema.fields.forEach((f, i) => {
      for (const value of batch.getChildAt(i)) {
        columns[f.name].values.push(value !== null && arrow.DataType.isDecimal(f.type) ? exact(value, f.type.scale) : value);
      }
    });
  }
  console.log(JSON.stringify({ batches, columns }));
};

read().catch((err) => {
  console.error(String(err));
  process.exit(1);
});

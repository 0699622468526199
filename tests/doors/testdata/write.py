# Writes the lines of a file with python-influxdb, and exits with 1 if it raises an error.
import sys
from influxdb import InfluxDBClient

host, port, key, path = sys.argv[1:]
client = InfluxDBClient(host=host, port=int(port), username="any", password=key, database="db", gzip=True)
client.ping()
with open(path) as lines:
    client.write_points(lines.read().splitlines(), protocol="line", time_precision="n")

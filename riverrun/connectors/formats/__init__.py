"""How records are bytes: JSON, CSV, Avro, Protobuf and raw bytes, by PyFlink's names."""

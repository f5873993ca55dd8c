"""shoal beside other Python libraries for k-anonymity, in one run on the same tables; see docs/benchmarks.md."""

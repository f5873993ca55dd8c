"""The parts of the report, each a function from the numbers to what stands on the page."""

"""Files that are larger than memory: summed up by person, grouped, masked and verified in portions."""

from shoal.engines.stream.recount import verify_file
from shoal.engines.stream.run import StreamedRelease, protect_file
from shoal.engines.stream.supported import why_not_streamed

__all__ = ["StreamedRelease", "protect_file", "verify_file", "why_not_streamed"]

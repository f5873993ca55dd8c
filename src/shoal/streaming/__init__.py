"""Files that are larger than memory: summed up by person, grouped, masked and verified in portions."""

from shoal.streaming.protect import StreamedRelease, protect_file
from shoal.streaming.supported import why_not_streamed
from shoal.streaming.verify import verify_file

__all__ = ["StreamedRelease", "protect_file", "verify_file", "why_not_streamed"]

"""Limits before work: token buckets and open-stream slots, in memory, bounded in size, per process."""

from __future__ import annotations

from collections import Counter, OrderedDict

from onevoice.ports.clock import Clock


class TokenBuckets:
    """One bucket per key: ``burst`` at once, then ``per_minute``; the longest unused keys are forgotten."""

    def __init__(self, clock: Clock, *, per_minute: float, burst: int, keys_max: int = 20_000) -> None:
        self._clock = clock
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._keys_max = keys_max
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one token: 0 when there was one, else the seconds until there is."""
        now = self._clock.monotonic()
        level, filled_at = self._buckets.pop(key, (self._burst, now))
        level = min(self._burst, level + (now - filled_at) * self._per_second)
        granted = level >= 1
        self._buckets[key] = (level - 1 if granted else level, now)
        if len(self._buckets) > self._keys_max:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (1 - level) / self._per_second


class Slots:
    """How many of something a key holds open at once."""

    def __init__(self, *, per_key: int) -> None:
        self._per_key = per_key
        self._held: Counter[str] = Counter()

    def take(self, key: str) -> bool:
        """Take a slot, if one is free; give it back with ``free``."""
        if self._held[key] >= self._per_key:
            return False
        self._held[key] += 1
        return True

    def free(self, key: str) -> None:
        self._held[key] -= 1
        if self._held[key] <= 0:
            del self._held[key]

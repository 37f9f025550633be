"""Requests to release parked entities: which of them are still to be performed, and when."""

from collections.abc import Container, Sequence

from bridge.core.parking import ReleaseRequest

__all__ = ["Releases"]


class Releases:
    """Requests as they were last listed, without those whose answer waits to be committed."""

    def __init__(self) -> None:
        self._listed: tuple[ReleaseRequest, ...] = ()
        self._answered: set[str] = set()
        self._had_turn = False

    def listed(
        self, requests: Sequence[ReleaseRequest], parked: Container[str]
    ) -> list[ReleaseRequest]:
        """Take the requests that are open by now; those about entities that are not parked.

        An answer that is not committed yet, or not visible, leaves its request in the list.
        """
        self._listed = tuple(requests)
        self._answered &= {request.request_id for request in requests}
        return [r for r in self._open() if r.persistence_id not in parked]

    def forget_answers(self) -> None:
        """What was queued is lost, answers included.

        An answer that was committed all the same is given once more: it then finds the entity
        released, or changes nothing about it.
        """
        self._answered.clear()

    def answered(self, request: ReleaseRequest) -> None:
        """The answer is queued."""
        self._answered.add(request.request_id)

    def next(self, parked: Container[str], *, page_due: bool) -> ReleaseRequest | None:
        """A request to go on with now; None when it is the journal's turn, or there is none.

        In turns: a release of many events must not hold up everybody else's.
        """
        found = self.first(parked)
        self._had_turn = found is not None and not (page_due and self._had_turn)
        return found if self._had_turn else None

    def first(self, parked: Container[str]) -> ReleaseRequest | None:
        """The first request that is still to be performed."""
        return next((r for r in self._open() if r.persistence_id in parked), None)

    def _open(self) -> Sequence[ReleaseRequest]:
        return [r for r in self._listed if r.request_id not in self._answered]

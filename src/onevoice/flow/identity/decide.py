"""The authority of a conversation made of two. Pure."""

from __future__ import annotations

from onevoice.flow.authority.decide import Authority
from onevoice.vocabulary import AuthorityState

_STRICTNESS = (
    AuthorityState.AI_ACTIVE,
    AuthorityState.AI_SUSPENDED,
    AuthorityState.HANDOFF_PENDING,
    AuthorityState.HUMAN_ACTIVE,
)


def merge_authority(kept: Authority, merged: Authority) -> Authority:
    """The higher version + 1 and the stricter state; two owners leave it to them to settle who answers."""
    version = max(kept.version, merged.version) + 1
    owners = {owner for owner in (kept.owner, merged.owner) if owner is not None}
    if len(owners) > 1:
        return Authority(
            state=AuthorityState.HANDOFF_PENDING,
            version=version,
            owner=None,
            reason="contacts_merged",
            note="two operators held this customer in two conversations",
        )
    stricter = max((kept, merged), key=lambda authority: _STRICTNESS.index(authority.state))
    return Authority(
        state=stricter.state,
        version=version,
        owner=stricter.owner,
        reason=stricter.reason,
        note=stricter.note,
    )

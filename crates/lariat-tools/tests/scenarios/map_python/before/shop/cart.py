"""A cart."""
import os

TAX = 0.2


class Cart(dict):
    """Holds items."""

    def __init__(self, owner: str, *, limit: int = 10) -> None:
        self.owner = owner

    @property
    def total(self):
        def helper():
            pass
        return 0


@decorated
async def checkout(cart: Cart) -> bool:
    return True

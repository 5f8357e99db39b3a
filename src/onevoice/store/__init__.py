"""PostgreSQL: connections, transactions, named statements, migrations, the embedded server and backups.

Nothing above this package sees the driver; its errors leave as those of `onevoice.errors`.
"""

from onevoice.store.database import Database, Row, Transaction
from onevoice.store.statements import Statement, Statements, load_statements

__all__ = ["Database", "Row", "Statement", "Statements", "Transaction", "load_statements"]

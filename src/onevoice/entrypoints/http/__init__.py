"""HTTP: webhooks, the operator API, the chat page and the live feed behind them."""

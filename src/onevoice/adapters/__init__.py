"""The outside world: each adapter implements one port and knows neither the flow nor another adapter."""

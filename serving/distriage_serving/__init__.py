"""HTTP endpoint, GitHub bot and triage queue. Nothing yet; see the project's issues."""

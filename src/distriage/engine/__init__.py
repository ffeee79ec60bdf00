"""Many reports: answers in order, in constant memory, from a process a core, or from a Ray cluster."""

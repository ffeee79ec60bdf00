"""Verdict + issue + configuration -> Plan. Pure: nothing here speaks to GitHub or to the store."""

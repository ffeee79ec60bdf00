"""The operating system that a report names."""

from __future__ import annotations

import pytest

from distriage.facts.environment import find_facts

FORM = "OS Platform and Distribution (e.g., Linux Ubuntu 16.04)"


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("OS: Ubuntu 22.04.3 LTS (x86_64)", "Ubuntu 22.04.3 LTS"),
        ("- OS: Some Enterprise Linux Server 7.2 (Name) (x86_64)", "Some Enterprise Linux Server 7.2"),
        ("8. OS and version: SomeHouseServer 7.5", "SomeHouseServer 7.5"),
        ("**Operating System:** xubuntu 18.04", "xubuntu 18.04"),
        ("OS: Mac OSX 10.13.6 (x86_64)", "Mac OSX 10.13.6"),
        ("OS X: 10.15.3", "macOS 10.15.3"),
        ("OS and version: OSX", "macOS"),
        ("\t- OS:                Darwin", "macOS"),
        ("OS: Win10", "Windows 10"),
        ("OS and version: Pop!_OS 20.04 LTS", "Pop!_OS 20.04 LTS"),
        ("OS: Debian GNU/Linux 10 (buster)", "Debian GNU/Linux 10 (buster)"),
        ("ubuntu@ip-10-0-0-1:~$ ls", None),
        ("auth:\n    ssh_user: ubuntu", None),
        ("user = 'ubuntu', on CentOS 7", "CentOS 7"),
        ("OS: Linux, here Ubuntu 20.04", "Ubuntu 20.04"),
        ("OS: Linux", "Linux"),
        ("OS: N/A", None),
        ("OS: it fails wherever I try to run it", None),
        ("pos: here", None),
        (f"{FORM}: MacOS 10.13.5", "MacOS 10.13.5"),
        (f"{FORM}: Linux Redhat", "Linux Redhat"),
        (f"{FORM}:", None),
        (f"- {FORM}:\n- Ray version: 2.9", None),
        ("OS Platform and Distribution (e.g., Linux Ubuntu 20.04):", "Ubuntu 20.04"),
        ("https://docs.example/start.html?platform=ubuntu&x=1", None),
        ("nccl-repo-rhel7-2.7.8\nOS and version: CentOS Linux release 7.8", "CentOS Linux release 7.8"),
        ("GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "Ubuntu"),
        ("It fails on macOS. I run macOS 10.12.6", "macOS 10.12.6"),
        ("It fails on macOS, not on Ubuntu 20.04", "macOS"),
        ("not working on my Mac", "macOS"),
        ("I have an M2 MacBook Air", "macOS"),
        ("on Mac the wheel is missing", "macOS"),
        ("Works on Mac, not elsewhere", None),
        ("every node has a MAC address", None),
        ("a macro of my machine", None),
        ("on a machine of mine", None),
        ("On Windows Subsystem for Linux.", "WSL"),
        ("On WSL2", "WSL2"),
    ],
)
def test_the_system_of_a_forms_line_counts_else_the_first_that_is_named(text: str, system: str | None) -> None:
    assert find_facts("", text).os == system

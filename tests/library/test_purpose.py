"""What a report is for: who explains a failure, and who tells none."""

from __future__ import annotations

import pytest

from distriage.reading.purpose import explains, is_solved, tells_no_failure
from distriage.segments import split


@pytest.mark.parametrize(
    "text",
    [
        "It is lost|`skip_first_batches` calls `type(loader)(...)` without `slice_fn`, so the attribute is lost.",
        "The flush hangs|`gather()` is in `_flush`, and rank 1 leaves the loop of `log_metric()`.",
        "It blocks|We should fix this by skipping such requests.",
        "It blocks|The cause of the problem is aa91193.",
        "It blocks|The culprit is the last change of the sampler.",
        "It is nan|A quick fix below gives 0.",
        "It is nan|It originates from the sampler.",
        "It is nan|The reason of the bug is the sampler.",
        "It is nan|## Suggested solution\nA barrier.",
        "It is nan|**Proposed change**\nA barrier.",
        "It is idle|I figured the source of it and propose some modifications.",
        "The state stays ALIVE|This is just for tracking.",
        "It waits|Worker 0 has a batch more. Is there a clean way to treat such shards?",
        "It waits|My question is, how can I use several models in one script?",
        "It waits|We think we know the reason: a head is not used there.",
        "It got slow|This PR https://github.com/acme/flock/pull/12 introduces a regression of 10 %.",
        "It fails|`few_shot` is empty, and `utils/conversation.py` (L126) indexes into it.",
        "It fails|I add the two attributes like below. The error is gone.",
        "It hides the cause|Several users told us that jobs die.",
        "The watchdog keeps the job|Here is `hang.py`, a hang made on purpose.",
        "It goes on|There is a check for None, so consider adding this line.",
        "It is wrong|Since the change of the sampler (#12) every rank draws the same.",
        "It is wrong|Since the change in 1a2b3c4 every rank draws the same.",
        "It is wrong|Since the pull request #812 every rank draws the same.",
        "It waits|Going back commit by commit, the change that introduced it is the new mode.",
        "It is slow|I narrowed it down to the transport of the newer release.",
        "It waits|I traced it to `getfqdn()`, which the others cannot resolve.",
        "It waits|Both are in flight. Is it allowed?",
        "It ends|See `core_worker.cc` (around line 2439).",
        "It ends|I will send a fix.",
        "It is full|We need to modify the worker, so that this fails gracefully.",
        "Do not reset CUDA_VISIBLE_DEVICES in runner.py|It keeps users from choosing a card.",
    ],
)
def test_who_says_how_it_comes_about_explains_it(text: str) -> None:
    assert explains(split(*text.split("|")))


@pytest.mark.parametrize(
    "text",
    [
        "It hangs|With `neat_packing: true` and `flash_attn: fa2` it hangs at step 1.",
        "It hangs|Any idea what might fix it? Nothing I tried would fix this.",
        "It crashes|No idea why, it worked since May.",
        "Make fails for the extension|It ends in an error.",
        "It fails|It fails since the update, is it possible that it lacks memory?",
        "It fails|Since we did not change anything, I am lost.",
        "It fails|Since the config change in our cluster I cannot train.",
        "It fails|I thought 80 GB would be enough to train this.",
        "It fails|In the log I found an NCCL error.",
        "It fails|Do we need to change any setting?",
        "It fails|Do we need to fix any setting?",
        "It fails|Is this normal?",
        "It fails|Is this combination supported?",
        "It fails|What settings should I use?",
        "It fails|Which options does it need?",
        "It fails|The reason for this is a mystery to me.",
        "It fails|The reason is hard to see.",
        "It fails|I have bisected nothing so far.",
        "It fails|It fails around line 12",
        "It fails|We should add that one GPU works.",
        "It fails|I traced it without success.",
        "It fails|What I think matters little here.",
        "It fails|Please send a fix.",
        "Do not reset the state|KeyError: 1\n```\nKeyError: 1\n```",
    ],
)
def test_who_does_not_know_explains_nothing(text: str) -> None:
    assert not explains(split(*text.split("|")))


@pytest.mark.parametrize(
    ("text", "none"),
    [
        ("Drop our sleep patch once we are on vLLM >0.17.0|After the bump it can be taken out again.", True),
        ("[Chore] Bump transformers to 5.2|Then the shim goes.", True),
        ("docs: rename the page on ZeRO|As said in the meeting.", True),
        ("Released wheel contains malware|It steals credentials. Please yank it.", True),
        ("[Security]: pickled data from the network (GHSA-aaaa-bbbb-cccc)|Is 0.8.4 affected?", True),
        ("GHSA-aaaa-bbbb-cccc: a peer can crash rank 0 (SIGSEGV)|torch 2.8", True),
        ("Announcement: NCCL 2.28.9 released|It mends a hang in ncclCommSplit and a crash.", True),
        ("NCCL 2.28.9-1 released|It mends a hang.", True),
        ("The memory is not released|It grows until it is full.", False),
        ("torch.load fails since the fix for CVE-2025-32434|Weights only load failed.", False),
        ("Ranks announce the wrong address to the store|They wait in init_process_group.", False),
        ("Memory grows with every step until 0.8.5 is released|From 40 GB to 80 GB.", False),
        ("KV cache of GPU 2 is released|Too early, and the engine waits.", False),
        ("End of support for CUDA 11 breaks DDP|It ends with an error.", False),
        ("The lock of rank 2 is never released|It hangs.", False),
        ("Question|![image](https://github.com/user-attachments/assets/1a)", True),
        ("prepare() with two models gives the last one twice|accelerate 1.11", False),
        ("Drop in throughput after the upgrade|Half as fast as before.", False),
        ("Update of torch breaks ZeRO-3|It fails with KeyError: 'a'.", False),
        ("Remove fails|KeyError: 'x'", False),
        ("CUDA out of memory|![image](https://github.com/user-attachments/assets/1a)", False),
        ("It hangs|![image](https://x.org/a.png) It hangs after the first step on two nodes.", False),
    ],
)
def test_chores_notices_and_pictures_tell_no_failure(text: str, none: bool) -> None:
    assert tells_no_failure(split(*text.split("|"))) is none


@pytest.mark.parametrize(
    ("text", "solved"),
    [
        ("It hangs at the end|Turns out our own loader gives rank 3 a batch less. Sorry for the noise.", True),
        ("It hangs at the end|I am closing this, the switch was broken.", True),
        ("[Solved] It hangs|I had forgotten `set_epoch`.", True),
        ("It hangs [RESOLVED]|The sampler was wrong.", True),
        ("It hangs|**Update:** resolved, a cable was loose.", True),
        ("多机卡住|后来发现网卡名写错了。", True),
        ("带宽只有一半|ACS 没关，关掉就好了。", True),
        ("It hangs|`use_reentrant=False` solves it.", True),
        ("It hangs|After setting the option and a reboot it runs.", True),
        ("端口冲突|换端口后解决了。", True),
        ("It hangs|None of them solved the problem.", False),
        ("It hangs|Neither option fixes the hang.", False),
        ("It hangs|It never solved the problem.", False),
        ("It hangs|Maybe this fixes the issue.", False),
        ("It hangs|After 10 minutes it works.", False),
        ("It hangs|Which release fixes the issue?", False),
        ("It hangs|An older driver fixes the hang, but then it is slow.", False),
        ("It hangs|It turns out that the hang only happens with 8 nodes.", False),
        ("It hangs|The problem is not solved yet.", False),
        ("It hangs|Closing the socket takes a minute.", False),
        ("It hangs|Please do not close this issue.", False),
        ("卡住|怎么解决?", False),
        ("It waits|Closing this file takes for ever.", False),
        ("It waits|After 200 steps rank 0 is closing it and rank 3 waits.", False),
        ("It waits|A similar issue was marked [solved], its answer does not help.", False),
        ("It waits|Sorry for the noise in the log, all ranks print.", False),
        ("It waits|Please reopen, closing this was premature.", False),
        ("It waits|Edit: solved by going back to 0.8.4, but the regression remains.", False),
        ("卡住|后来发现每次都在 1000 步卡住", False),
        ("卡住|这个问题在 0.8.4 已解决，但 0.8.5 又出现了", False),
        ("卡住|要是能支持 2 机就好了", False),
        ("卡住|换成 gloo 就好了，过一会儿又挂了", False),
    ],
)
def test_who_has_found_it_has_solved_it(text: str, solved: bool) -> None:
    assert is_solved(split(*text.split("|"))) is solved

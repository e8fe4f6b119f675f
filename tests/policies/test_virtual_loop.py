import asyncio

from interlock.policies.virtual_loop import VirtualLoop

MS = 1_000_000


def test_a_timer_fires_at_exactly_its_time_and_not_before():
    loop, fired = VirtualLoop(), []

    async def program():
        await asyncio.sleep(0.02)
        fired.append(loop.now_ns)

    task = loop.create_task(program())
    for now_ms in (0, 10, 19, 20, 30):
        loop.run_until_idle(now_ms * MS)
    assert fired == [20 * MS]
    assert task.done()


def test_the_whole_of_asyncio_works_on_given_time():
    loop = VirtualLoop()

    async def program():
        results = await asyncio.gather(asyncio.sleep(0.01, "a"), asyncio.sleep(0.03, "b"))
        try:
            async with asyncio.timeout(0.05):
                await asyncio.sleep(9)
        except TimeoutError:
            return results, loop.now_ns

    task = loop.create_task(program())
    for now_ms in range(0, 100, 10):
        loop.run_until_idle(now_ms * MS)
    assert task.result() == (["a", "b"], 80 * MS)


def test_a_task_that_spins_does_not_keep_its_node():
    loop = VirtualLoop()

    async def spin():
        while True:
            await asyncio.sleep(0)

    task = loop.create_task(spin())
    assert loop.run_until_idle(0) is False
    task.cancel()
    assert loop.run_until_idle(1) is True


def test_time_does_not_go_back():
    loop = VirtualLoop()
    loop.run_until_idle(50 * MS)
    loop.run_until_idle(10 * MS)
    assert loop.now_ns == 50 * MS

"""A clock that stands still."""

import anyio
import anyio.lowlevel

import interlock as il


async def test_only_those_wake_whose_time_has_come():
    clock = il.FakeClock(100)
    woken: list[float] = []

    async def sleep(due: float) -> None:
        await clock.sleep_until(due)
        woken.append(due)

    async with anyio.create_task_group() as group:
        for due in (130, 110, 120, 200):
            group.start_soon(sleep, due)
        while await clock.next_sleeper() != 110:
            await anyio.lowlevel.checkpoint()
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        clock.advance(30)
        assert clock.now() == 130
        assert await clock.next_sleeper() == 200
        while len(woken) < 3:
            await anyio.lowlevel.checkpoint()
        clock.advance(70)
    assert sorted(woken[:3]) == [110, 120, 130]  # all at once, as far as an event loop is concerned
    assert woken[3] == 200


async def test_what_is_past_is_not_slept_for():
    clock = il.FakeClock(100)
    await clock.sleep_until(100)
    await clock.sleep_until(5)
    assert clock.now() == 100


async def test_it_may_jump_by_itself():
    clock = il.FakeClock(autojump=True)
    await clock.sleep_until(3600)
    assert clock.now() == 3600


async def test_a_cancelled_sleeper_is_forgotten():
    clock = il.FakeClock()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep_until, 10)
        await clock.next_sleeper()
        group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep_until, 20)
        assert await clock.next_sleeper() == 20
        clock.advance(20)

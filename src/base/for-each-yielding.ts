import { setImmediate as eventLoopTurn } from "node:timers/promises";

/** As many as take a few milliseconds at most. */
const itemsPerTurn = 500;

/** Calls `act` with each item. Other things have a turn of the event loop in between. */
export async function forEachYielding<Item>(items: readonly Item[], act: (item: Item) => void): Promise<void> {
  for (let done = 0; done < items.length; done += itemsPerTurn) {
    items.slice(done, done + itemsPerTurn).forEach((item) => act(item));
    await eventLoopTurn();
  }
}

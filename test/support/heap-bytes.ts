import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
// Only a context that is made after the flag was set has the function `gc`.
const collectGarbage = runInNewContext("gc") as () => void;

/** Returns the bytes that this process holds after a garbage collection, in the heap and in buffers beside it. */
export function heapBytes(): number {
  collectGarbage();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

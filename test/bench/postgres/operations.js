/** What an instance is asked to do, again and again, and what this is compared with. */

/** How many animals there are before anything is measured. */
export const animalCount = 10_000;
const listLength = 20;
const manyKeys = 1_000;

/** Never used up. */
const plan = { name: "enterprise", perMinute: 1_000_000_000, perDay: 1_000_000_000 };

/** The statement that a program without batches would send for each animal, into a table of its own. */
export const singlesTable = `CREATE TABLE singles (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL,
  category_id bigint NOT NULL, status text NOT NULL); CREATE INDEX ON singles (status, id)`;
const insertSingle = "INSERT INTO singles (name, category_id, status) VALUES ($1, $2, $3) RETURNING id";

/** @returns {Record<string, () => Promise<unknown>>} each rejects if its result is wrong */
export function operationsOf({ limiter, store }, pool) {
  const take = async (keyId) => {
    const { kind } = await limiter.take(keyId, plan);
    assert(kind === "allowed", `a request was ${kind}`);
  };
  const oneOf = (count) => 1 + Math.floor(Math.random() * count);
  const animal = () => ({ name: "Newcomer", categoryId: BigInt(oneOf(50)), status: "available" });
  return {
    "SELECT 1": () => pool.query("SELECT 1"),
    "single INSERT": () => pool.query(insertSingle, ["Newcomer", oneOf(50), "available"]),
    "limits, 1 key": () => take("key-0"),
    "limits, 1,000 keys": () => take(`key-${oneOf(manyKeys)}`),
    create: () => store.add(animal()),
    get: async () => {
      const json = await store.get(oneOf(animalCount));
      assert(json !== undefined, "an animal was not found");
    },
    "list of 20": async () => {
      const { json } = await store.list({ after: oneOf(animalCount - listLength), limit: listLength, status: undefined });
      assert(json.length > 20 * listLength, "a page is too short");
    },
  };
}

function assert(isRight, fault) {
  if (!isRight) throw new Error(fault);
}

/**
 * Fastify 5 as most people would put it on PostgreSQL: `pg` with a pool of ten, a statement for each request, and
 * `rate-limiter-flexible` with two windows. DATABASE_URL is an empty database.
 *
 * In its favour: named statements, which PgBouncer may refuse; both windows are taken at a time; it has no request ids, no
 * bans and no idempotency; ids may have gaps, and may be seen out of order.
 */
import { readFileSync } from "node:fs";
import bearerAuth from "@fastify/bearer-auth";
import Fastify from "fastify";
import pg from "pg";
import { RateLimiterPostgres } from "rate-limiter-flexible";
import { listQuery, newPet, pet } from "./schemas.js";
import { animalsFile, dayMs, minuteMs, quotas, sayListening } from "./settings.js";

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const members = 'id, name, category_id AS "categoryId", status';

await pool.query(`CREATE TABLE pets (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL,
  category_id bigint NOT NULL, status text NOT NULL)`);
await pool.query("CREATE INDEX ON pets (status, id)");
await pool.query(
  `INSERT INTO pets (name, category_id, status)
    SELECT line ->> 'name', (line ->> 'categoryId')::bigint, line ->> 'status' FROM unnest($1::jsonb[]) AS line`,
  [readFileSync(animalsFile, "utf8").trimEnd().split("\n")],
);
await pool.query("VACUUM ANALYZE pets");

const limiters = new Map();
for (const [key, points] of quotas) {
  const ofWindow = (ms) =>
    new Promise((resolve, reject) => {
      const options = { storeClient: pool, storeType: "pool", tableName: "limits", keyPrefix: `${ms}`, points, duration: ms / 1_000 };
      const limiter = new RateLimiterPostgres(options, (error) => (error ? reject(error) : resolve(limiter)));
    });
  limiters.set(`Bearer ${key}`, [await ofWindow(minuteMs), await ofWindow(dayMs)]);
}

const fastify = Fastify({ bodyLimit: 16_384, ajv: { customOptions: { removeAdditional: false } } });
await fastify.register(bearerAuth, {
  keys: new Set(quotas.keys()),
  errorResponse: (error) => ({ code: "invalid_api_key", message: error.message, status: 401 }),
});
fastify.addHook("onRequest", async (request, reply) => {
  const field = request.headers.authorization;
  try {
    const [minute] = await Promise.all(limiters.get(field).map((limiter) => limiter.consume(field)));
    reply.header("x-ratelimit-remaining", minute.remainingPoints);
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    reply.header("retry-after", Math.ceil(refused.msBeforeNext / 1_000)).header("x-ratelimit-remaining", 0);
    return reply.code(429).send({ code: "rate_limited", message: "Too many requests", status: 429 });
  }
});

const listSchema = { querystring: listQuery, response: { 200: { type: "array", items: pet } } };
fastify.get("/v1/pets", { schema: listSchema }, async ({ query }, reply) => {
  const { limit, status, after } = query;
  const filter = status === undefined ? "" : "AND status = $3";
  const text = `SELECT ${members} FROM pets WHERE id > $1 ${filter} ORDER BY id LIMIT $2`;
  const values = [after, limit + 1, ...(status === undefined ? [] : [status])];
  const { rows } = await pool.query({ name: `list ${filter}`, text, values });
  const animals = rows.slice(0, limit);
  if (rows.length > limit) {
    const first = `limit=${limit}${status === undefined ? "" : `&status=${status}`}`;
    reply.header("link", `</v1/pets?${first}&after=${animals.at(-1).id}>; rel="next"`);
  }
  return animals;
});
fastify.get("/v1/pets/:id", { schema: { response: { 200: pet } } }, async ({ params }, reply) => {
  const text = `SELECT ${members} FROM pets WHERE id = $1`;
  const { rows } = await pool.query({ name: "get", text, values: [params.id] });
  if (rows[0] !== undefined) return rows[0];
  return reply.code(404).send({ code: "pet_not_found", message: "No such animal", status: 404 });
});
fastify.post("/v1/pets", { schema: { body: newPet, response: { 201: pet } } }, async ({ body }, reply) => {
  const { name, categoryId, status = "available" } = body;
  const text = `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${members}`;
  const { rows } = await pool.query({ name: "create", text, values: [name, categoryId, status] });
  return reply.code(201).header("location", `/v1/pets/${rows[0].id}`).send(rows[0]);
});

await fastify.listen({ host: "127.0.0.1", port: 0 });
sayListening(fastify.server.address().port);

/**
 * Adds an animal once, however often the request must be sent: a client for browsers and Node.
 *
 * Each attempt has the same Idempotency-Key. It is repeated after a network error, 408, 429 and 5xx, up to nine times
 * in about nine minutes, or longer if Retry-After says so.
 *
 * @param url such as http://127.0.0.1:3000/v1/pets
 * @param animal { name, categoryId, status? }; JavaScript's numbers are exact up to 2^53
 * @param idempotencyKey a new value for each animal; kept, it makes a retry safe also after a crash of the client
 * @returns the first response that a retry cannot change, and its content
 */
export async function addAnimal(url, apiKey, animal, idempotencyKey = crypto.randomUUID()) {
  const headers = { "Authorization": `Bearer ${apiKey}`, "Content-Type": "application/json" };
  headers["Idempotency-Key"] = idempotencyKey; // The same value in every attempt.
  for (let waitSeconds = 1; ; waitSeconds *= 2) {
    const signal = AbortSignal.timeout(60_000);
    const request = new Request(url, { method: "POST", headers, body: JSON.stringify(animal), signal });
    const response = await fetch(request).catch(() => undefined); // Undefined after a network error.
    const text = await response?.text().catch(() => undefined);
    const isFinal = text !== undefined && response.status < 500 && ![408, 429].includes(response.status);
    if (isFinal) return { response, text };
    if (waitSeconds > 500) throw new Error(`Cannot add the animal: ten attempts failed (${response?.status})`);
    const retryAfterSeconds = Number(response?.headers.get("Retry-After")) || 0; // A date counts as 0.
    await new Promise((resolve) => setTimeout(resolve, 1_000 * Math.max(waitSeconds, retryAfterSeconds)));
  }
}

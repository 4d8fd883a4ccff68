/**
 * A TCP proxy between a client and PostgreSQL, with the faults of a network.
 */

import { connect, createServer } from "node:net";

/**
 * Listens on a port of its own and passes connections on to the address.
 *
 * - `url`: the address through the proxy; `urlOf(other)`: the same for another database of this postgres
 * - `cut()`: nothing arrives any more, in either direction. Connections stay open and are told nothing. A new one is
 *   accepted and stays silent.
 * - `holdResponses()`: requests arrive, responses do not
 * - `heal()`: what was held arrives late, also the end of a connection, as TCP sends again what was lost.
 *   `heal({ forget: true })`: connections from before stay silent, as behind a firewall that has forgotten them.
 * - `refuse("reset")`: each new connection is reset; `refuse("silence")`: it is told nothing; those from before work
 * - `slow(ms)`: new connections are opened so much later
 * - `lead(other)`: resets the connections and passes new ones on to another address, as after a failover
 * - `reset()`: ends each connection with RST, on both sides; new ones work unless the network is cut
 * - `stop()`: resets the connections and closes the port
 */
export async function startProxy(url) {
  let target = new URL(url);
  const links = new Set();
  const refused = new Set();
  let holds = { requests: false, responses: false };

  const setHolds = (requests, responses) => {
    holds = { requests, responses };
    links.forEach((link) => link.apply(holds));
  };
  let refusal;
  let delayMs = 0;
  const reset = () => links.forEach((link) => link.reset());

  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    if (refusal !== undefined) {
      refused.add(client);
      client.on("error", () => undefined);
      return refusal === "reset" && resetSocket(client);
    }
    const upstream = connect({ port: Number(target.port || 5432), host: target.hostname, allowHalfOpen: true, noDelay: true });
    const link = newLink(client, upstream);
    links.add(link);
    [client, upstream].forEach((socket) => {
      socket.once("close", () => client.destroyed && upstream.destroyed && links.delete(link));
    });
    if (delayMs > 0) {
      link.apply({ requests: true, responses: true });
    }
    setTimeout(() => link.apply(holds), delayMs);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const urlOf = (other) => Object.assign(new URL(other), { hostname: "127.0.0.1", port: server.address().port }).href;
  return {
    url: urlOf(url),
    urlOf,
    cut: () => setHolds(true, true),
    holdResponses: () => setHolds(false, true),
    heal({ forget = false } = {}) {
      if (forget) {
        links.forEach((link) => link.forget());
      }
      setHolds(false, false);
    },
    refuse: (how) => (refusal = how),
    slow: (ms) => (delayMs = ms),
    lead(other) {
      target = new URL(other);
      reset();
    },
    reset,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      reset();
      refused.forEach(resetSocket);
      await closed;
    },
  };
}

/** libuv does not reset a socket that is being shut down, and Node never closes that one, nor ends at its exit. */
function resetSocket(socket) {
  if (socket.writableEnded && !socket.writableFinished) {
    socket.destroy();
  } else {
    socket.resetAndDestroy();
  }
}

/** The two sides of a connection. What is held stays unread, so neither side learns of the other's content or end. */
function newLink(client, upstream) {
  const halves = [newHalf(client, upstream), newHalf(upstream, client)];
  let isForgotten = false;
  return {
    apply({ requests, responses }) {
      [requests, responses].forEach((isHeld, index) => halves[index].hold(isHeld || isForgotten));
    },
    forget() {
      isForgotten = true;
    },
    reset() {
      [client, upstream].forEach(resetSocket);
    },
  };
}

function newHalf(from, to) {
  let isHeld = true;
  let isBroken = false;
  const pass = () => {
    if (isHeld) {
      from.pause();
    } else if (isBroken) {
      resetSocket(to);
    } else {
      from.resume();
    }
  };
  from.on("data", (chunk) => to.write(chunk) || from.pause());
  to.on("drain", pass);
  from.on("end", () => to.end());
  from.on("error", () => {
    isBroken = true;
    pass();
  });
  return {
    hold(now) {
      isHeld = now;
      pass();
    },
  };
}

/**
 * Every flag, variable, default and bound of the server's settings.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { parseFlags, UsageError } from "../../src/cli/parse-flags.ts";
import { readSettings, type SettingName, settingNames, type Settings, variableOf } from "../../src/cli/settings.ts";

test("readSettings() returns the defaults if nothing is given", () => {
  const expected: Settings = {
    port: 3000,
    host: "127.0.0.1",
    storage: { kind: "folder", dataDir: "data" },
    baseUrl: undefined,
    stagingBaseUrl: undefined,
    trustedProxyCount: 0,
    idleSeconds: 75,
    corsOrigins: [],
    tls: undefined,
    log: "lifecycle",
    hasConsole: true,
    hasFastLane: true,
    metricsPort: undefined,
    metricsHost: "127.0.0.1",
  };
  assert.deepEqual(readSettings([], {}).settings, expected);
  const empty = Object.fromEntries(settingNames.map((name) => [variableOf(name), ""]));
  assert.deepEqual(readSettings([], empty).settings, expected, "an empty variable is not set");
});

const variables: Readonly<Record<SettingName, string>> = {
  port: "PORT",
  host: "ANIMAL_STORE_HOST",
  data: "ANIMAL_STORE_DATA",
  database: "ANIMAL_STORE_DATABASE",
  "database-connections": "ANIMAL_STORE_DATABASE_CONNECTIONS",
  "tls-cert": "ANIMAL_STORE_TLS_CERT",
  "tls-key": "ANIMAL_STORE_TLS_KEY",
  "base-url": "ANIMAL_STORE_BASE_URL",
  "staging-base-url": "ANIMAL_STORE_STAGING_BASE_URL",
  "trust-proxy": "ANIMAL_STORE_TRUST_PROXY",
  "idle-seconds": "ANIMAL_STORE_IDLE_SECONDS",
  "cors-origin": "ANIMAL_STORE_CORS_ORIGIN",
  log: "ANIMAL_STORE_LOG",
  console: "ANIMAL_STORE_CONSOLE",
  "fast-lane": "ANIMAL_STORE_FAST_LANE",
  "metrics-port": "ANIMAL_STORE_METRICS_PORT",
  "metrics-host": "ANIMAL_STORE_METRICS_HOST",
};

interface Row {
  readonly name: SettingName;
  readonly member: keyof Settings;
  /** Text, and what is made of it. */
  readonly good: readonly (readonly [string, unknown])[];
  readonly bad: readonly string[];
}

const rows: readonly Row[] = [
  {
    name: "port",
    member: "port",
    good: [["0", 0], ["1", 1], ["65535", 65_535]],
    bad: ["65536", "-1", "+1", "01", "1.0", "1e3", " 1", "http", "0x10", "99999999999"],
  },
  { name: "host", member: "host", good: [["::1", "::1"], ["0.0.0.0", "0.0.0.0"]], bad: [" ", "a\0b"] },
  {
    name: "data",
    member: "storage",
    good: ["/var/lib/animals", "a b", "50%", "a~"].map((dataDir) => [dataDir, { kind: "folder", dataDir }] as const),
    // What a shell, a unit or a template would have expanded.
    bad: [" ", "a\0b", "~/animals", "~", "$HOME/animals", "a/${DATA}", "%h/animals", "{{ data }}", "file:///animals", "caf\ufffd"],
  },
  { name: "database", member: "storage", good: [], bad: ["***"] }, // More in database-address.test.ts.
  { name: "database-connections", member: "storage", good: [], bad: ["0", "101", "1.5", "ten"] }, // Likewise.
  { name: "tls-cert", member: "tls", good: [], bad: [" ", "a.pem"] }, // Together in tls.test.ts.
  { name: "tls-key", member: "tls", good: [], bad: [" ", "a.key"] },
  {
    name: "base-url",
    member: "baseUrl",
    good: [
      ["https://example.com/v1", "https://example.com/v1"],
      ["http://localhost:8080/api/store/v1/", "http://localhost:8080/api/store/v1"],
      ["https://[::1]:1/v1", "https://[::1]:1/v1"],
      ["https://example.com/@acme/a:b/c+d,e=f/v1", "https://example.com/@acme/a:b/c+d,e=f/v1"],
      ["https://例え.example/v1", "https://xn--r8jz45g.example/v1"],
      ["HTTPS://Bücher.Example:443/v1", "https://xn--bcher-kva.example/v1"],
    ],
    bad: [
      "example.com/v1", "https://example.com", "https://example.com/v2", "https://example.com/V1", "ftp://example.com/v1",
      "https://example.com/v1?a", "https://example.com/v1#a", "https://user@example.com/v1", "https://example.com//v1",
      "https://example.com/a/../v1", "https://example.com/./v1", "https://example.com/%61/v1", "https://exa mple.com/v1",
      "https:///v1", "https://*.example/v1",
      "https://example.com:99999/v1", "https://ex%2Fample.com/v1", `https://example.com/${"a".repeat(2_048)}/v1`,
    ],
  },
  {
    name: "staging-base-url",
    member: "stagingBaseUrl",
    good: [["https://staging.example.com/v1", "https://staging.example.com/v1"]],
    bad: ["https://staging.example.com"],
  },
  { name: "trust-proxy", member: "trustedProxyCount", good: [["0", 0], ["32", 32]], bad: ["33", "-1", "true", "1.5"] },
  {
    name: "idle-seconds",
    member: "idleSeconds",
    good: [["1", 1], ["75", 75], ["3599", 3_599], ["3600", 3_600]],
    bad: ["0", "-1", "1.5", "075", "75s", "3601"],
  },
  {
    name: "cors-origin",
    member: "corsOrigins",
    good: [
      ["*", ["*"]],
      ["https://a.example", ["https://a.example"]],
      ["https://a.example, http://localhost:8080", ["https://a.example", "http://localhost:8080"]],
    ],
    bad: [
      "https://*.example", "https://例え.example", "https://a.example/", "https://A.example", "a.example", "null",
      "*,https://a.example", "https://a.example,", ",",
    ],
  },
  {
    name: "log",
    member: "log",
    good: [["off", "off"], ["lifecycle", "lifecycle"], ["requests", "requests"]],
    bad: ["Off", "debug", "on"],
  },
  { name: "console", member: "hasConsole", good: [["on", true], ["off", false]], bad: ["On", "true", "0"] },
  { name: "fast-lane", member: "hasFastLane", good: [["on", true], ["off", false]], bad: ["On", "true", "0"] },
  { name: "metrics-port", member: "metricsPort", good: [["0", 0], ["65535", 65_535]], bad: ["65536", "none"] },
  { name: "metrics-host", member: "metricsHost", good: [["::", "::"]], bad: [" "] },
];

test("every setting is tested below", () => {
  assert.deepEqual(rows.map(({ name }) => name), settingNames);
  assert.deepEqual(Object.fromEntries(settingNames.map((name) => [name, variableOf(name)])), variables);
});

for (const { name, member, good, bad } of rows) {
  test(`--${name} and ${variables[name]} accept valid values, and the last flag wins over others and the variable`, () => {
    const [other = ""] = good.at(-1) ?? [];
    for (const [text, value] of good) {
      assert.deepEqual(readSettings([`--${name}`, text], {}).settings[member], value);
      assert.deepEqual(readSettings([`--${name}=${text}`], {}).settings[member], value);
      assert.deepEqual(readSettings([], { [variables[name]]: text }).settings[member], value);
      assert.deepEqual(readSettings([`--${name}`, text], { [variables[name]]: other }).settings[member], value);
      assert.deepEqual(readSettings([`--${name}`, other, `--${name}`, text], {}).settings[member], value);
    }
  });

  test(`--${name} and ${variables[name]} refuse invalid values in a message that names the flag or variable, and the value`, () => {
    for (const text of bad) {
      const says = (cited: string) => (error: unknown) => {
        assert.ok(error instanceof UsageError && error.message.startsWith(`Cannot use ${cited}: must `), String(error));
        return true;
      };
      assert.throws(() => readSettings([`--${name}`, text], {}), says(`--${name} ${text}`));
      assert.throws(() => readSettings([], { [variables[name]]: text }), says(`${variables[name]}=${text}`));
    }
    assert.throws(() => readSettings([`--${name}=`], {}), UsageError, "a flag without a value is no default");
  });
}

test("no setting takes a text in quotation marks, with a blank at an end, or with a control character", () => {
  const others: Partial<Record<SettingName, string>> = {
    database: "postgres://app@127.0.0.1/store",
    "database-connections": "5",
    "tls-cert": "a.pem",
    "tls-key": "a.key",
  };
  for (const { name, good } of rows) {
    const text = others[name] ?? good[0]?.[0] ?? assert.fail(name);
    const variable = variables[name];
    const quoted = [`"${text}"`, `'${text}'`, `"${text}`, `${text}"`];
    const spaced = [` ${text}`, `${text} `, `${text}\r`, `${text}\n`, `\t${text}`];
    for (const wrong of [...quoted, ...spaced, `${text}\u007f`, `${text}\u0085`]) {
      assert.throws(() => readSettings([], { [variable]: wrong }), { name: "UsageError", message: new RegExp(`^Cannot use ${variable}=`) });
      assert.throws(() => readSettings([`--${name}`, wrong], {}), { name: "UsageError", message: new RegExp(`^Cannot use --${name} `) });
    }
  }
});

/** What Kubernetes adds to each container for a Service with a port 3000 that is named http. */
function serviceVariables(service: string): NodeJS.ProcessEnv {
  const members = {
    SERVICE_HOST: "10.0.0.11", SERVICE_PORT: "3000", SERVICE_PORT_HTTP: "3000", PORT: "tcp://10.0.0.11:3000",
    PORT_3000_TCP: "tcp://10.0.0.11:3000", PORT_3000_TCP_PROTO: "tcp", PORT_3000_TCP_PORT: "3000", PORT_3000_TCP_ADDR: "10.0.0.11",
  };
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [`${service}_${name}`, value]));
}

test("what Kubernetes adds for a Service is no setting, and is passed over in silence", () => {
  const services = ["ANIMAL_STORE", "ANIMAL_STORE_METRICS", "ANIMAL_STORE_DATABASE", "ANIMAL_STORE_PORT_X", "REDIS"].map(serviceVariables);
  const environment = Object.assign({}, ...services) as NodeJS.ProcessEnv;
  const { settings, warnings } = readSettings([], environment);
  assert.deepEqual([settings, warnings], [readSettings([], {}).settings, []]);
  const own = { ...environment, ANIMAL_STORE_METRICS_PORT: "9464", ANIMAL_STORE_METRICS_HST: "::" };
  assert.equal(readSettings([], own).settings.metricsPort, 9_464);
  assert.equal(readSettings([], own).warnings.length, 1);
  const alone = { ANIMAL_STORE_METRICS_PORT: "tcp://10.0.0.11:3000" };
  assert.throws(() => readSettings([], alone), { name: "UsageError" }, "no Service is there");
});

test("readSettings() refuses one address for the API and the metrics, unless its port is picked", () => {
  const both = (port: string, host: string) => () => readSettings(["--port", port, "--metrics-port", port, "--host", host], {});
  assert.throws(both("4000", "127.0.0.1"), /^UsageError: Cannot use --metrics-port 4000: it is the port of the API$/);
  both("4000", "127.0.0.2")();
  both("0", "127.0.0.1")();
});

test("readSettings() refuses an unknown flag, a flag without its value, and a word that is no command", () => {
  const table = [
    [["--colour", "red"], /^Cannot use --colour: unknown flag/],
    [["-p", "1"], /^Cannot use -p: unknown flag/],
    [["--__proto__", "1"], /^Cannot use --__proto__: unknown flag/],
    [["--PORT", "1"], /^Cannot use --PORT: unknown flag/],
    [["--port"], /^Cannot use --port: its value is missing$/],
    [["serve"], /^Cannot use "serve": no such command/],
    [["--data", "x", "check"], /^Cannot use "check": a command comes before all flags; see --help$/],
  ] as const;
  for (const [args, message] of table) {
    assert.throws(() => readSettings(args, {}), (error) => error instanceof UsageError && message.test(error.message));
  }
});

test("parseFlags() takes no flag for the value of another one, unless it follows an equals sign", () => {
  const message = "Cannot use --label: its value is missing";
  for (const args of [["--label", "--expires=2030-01-31"], ["--label", "--expires", "2030-01-31"], ["--label", "--json"]]) {
    assert.throws(() => parseFlags(args, ["label", "expires", "json"], ["json"]), { name: "UsageError", message });
  }
  assert.equal(parseFlags(["--label=--expires"], ["label", "expires"]).values.get("label"), "--expires");
});

test("parseFlags() returns the last value of each flag, and the operands", () => {
  const { values, operands } = parseFlags(["a", "--x=1=2", "b", "--y", "0", "--y", "--s", "--", "--z"], ["x", "y"]);
  assert.deepEqual([[...values], operands], [[["x", "1=2"], ["y", "--s"]], ["a", "b", "--z"]]);
});

/** What `--help` prints, of the program and of each command. Settings describe themselves in cli/settings.ts. */

import { type Row, settingRows, variableOf } from "./settings.ts";

const dataFlag = "  --data FOLDER       the data folder (default: data; env: ANIMAL_STORE_DATA)";
const storageFlags = `${dataFlag}
  --database URL      the database, postgres://…, in place of the folder (env: ANIMAL_STORE_DATABASE)`;
const planFlag = "  --plan NAME         free, pro, business or enterprise";
const quotaFlags = `  --per-minute N      requests per minute; required for enterprise, not allowed for other plans
  --per-day N         requests per day; required for enterprise, not allowed for other plans`;

/** The help of a command. The text is trimmed, and the flags lose their first line break. */
type Help = readonly [usage: string, text: string, flags?: string];

const commandHelp: Readonly<Record<string, Help>> = {
  check: ["[FLAGS] [--salvage FOLDER]", `
Says whether the server would start with the same flags and variables, by starting it up to the point where it would
listen. This takes as much memory as a start. What a start would write to the data folder is dropped: nothing is
changed, and servers may be running. It does not look whether hosts exist and ports are free. Exit code 0: the server
would start; 1: it would not; 2: a setting is wrong, such as the address, user or password of the database, or the
client of the database is not installed.

If a file is damaged, the line and byte are named. If a newer release wrote the line, start that release. Otherwise
restore the file from a backup. Or, with the server stopped:

  animal-store check --data DAMAGED --salvage FOLDER

writes the intact animals and changes of pets.jsonl to a new folder, and says what is lost. Start the server on the new
folder. Lost animals are 404, and their ids are not used again. If a change is lost, its animal is as it was before
it. If the disk cannot read the file, copy it with ddrescue first. If lines are not in the order of their numbers,
nothing is written, and the first such line is named: cut what is wrong out of a copy, and salvage that. keys.jsonl and
limits.json are copied only if they are undamaged: if a line of keys.jsonl is lost, revoked keys could work again.
Exit code 0: nothing is lost; 1: something is lost, or nothing could be written.
`],
  export: ["FOLDER [--data FOLDER]", `
Writes the catalogue, the keys and the limits, as they are now, to a new data folder. The folder is made if it is
missing, and must not have such files yet. An animal takes one line there, however often it was changed. So the file
is short, and a start is quick: stop the server, export, and start it on the new folder. While a server runs, the export
is a backup: it has nothing that is confirmed later. It also has the next id, and the idempotency keys of the last 24
hours, at most the last 1,000,000. A database is backed up with pg_dump.
`],
  import: [`FILE [--data FOLDER | --database URL]
       animal-store import FOLDER --database URL`, `
Adds the animals of FILE: one JSON object a line, each like the body of POST /pets. Blank lines are skipped. A FILE of -
is standard input. Standard input and pipes are first copied to the temporary folder, or, if that fails, to the data
folder. The whole file is validated before the first animal is added. A server that is running on the data folder goes
on serving, and adds the animals. If it restarts, the import waits up to 15 s for it, and goes on. If a signal or a full
disk ends the import, it says which lines were added, and how to go on.

With --database, a data folder is copied into an empty database, with its keys and limits. Ids are kept, and either
everything is copied or nothing.
`],
  keys: ["COMMAND [FLAGS]", `
A change is on disk and in effect when the command ends, also in a server that is running on the data folder. With a
database, all servers apply it within a second. "animal-store keys COMMAND --help" says more.
`, `
  create              makes a key and prints it
  list                prints a line for each key
  show ID             prints what list prints, for one key
  revoke ID           ends a key for good
  plan ID             changes a key's plan
  label ID LABEL      changes a key's label
  expire ID DATE      changes when a key stops working
  rotate ID           gives a key a new secret and prints it
  unban ID            lifts a key's ban
  reset ID            restores a key's quota

`],
  "keys create": ["[FLAGS]", `
Makes a key and prints it, alone, on standard output. The key is shown only this once: the service stores its SHA-256.
`, `
${planFlag} (default: free)
${quotaFlags}
  --label TEXT        at most 64 printable characters, shown by keys list
  --expires ISO-DATE  when it stops working: 2030-01-31 (its first instant in UTC) or 2030-01-31T12:00:00Z
  --read-only         it may only list and fetch animals
`],
  "keys list": ["[FLAGS]", `
Prints a line for each key: id, state (active, banned, expired or revoked), plan, access (full or read-only), requests
used in the minute and in the day, end of a ban, last request (if within a day), creation, expiry, label. Requests and
bans in a folder are those of the last save, at most 3 s ago.
`, `
  --json              prints JSON lines, an object for each key, for programs
`],
  "keys show": ["ID [FLAGS]", `
Prints what keys list prints, for one key and on a line each; and after a rotation, until when older secrets work.
`, `
  --json              prints the JSON object that keys list --json prints
`],
  "keys revoke": ["ID [FLAGS]", "Ends a key for good."],
  "keys plan": ["ID --plan NAME [FLAGS]", `
Changes a key's plan. Requests already counted in the open windows stay counted, and a ban stays.
`, `
${planFlag}
${quotaFlags}
`],
  "keys label": ["ID LABEL [FLAGS]", `
Changes a key's label: at most 64 printable characters. An empty one, '', removes it.
`],
  "keys expire": ["ID DATE|never [FLAGS]", `
Changes when a key stops working: 2030-01-31 (its first instant in UTC), 2030-01-31T12:00:00Z, or never. The date must
be in the future. A key that has expired then works again.
`],
  "keys rotate": ["ID [FLAGS]", `
Prints a new secret, alone, on standard output. The key keeps its id, plan, counters and bans.
`, `
  --grace SECONDS     how long the old secrets still work, at most a year (default: 0); a grace that an earlier
                      rotation set is never extended
`],
  "keys unban": ["ID [FLAGS]", "Lifts a key's ban. The next one within 24 hours still lasts twice as long."],
  "keys reset": ["ID [FLAGS]", `
Restores the quotas of the minute and the day in full, lifts a ban, and makes the next ban as short as a first one.
`],
};

/** @param args the command line; its first words choose the text */
export function helpText(args: readonly string[]): string {
  const [command = "", subcommand = ""] = args;
  const name = [`${command} ${subcommand}`, command].find((one) => Object.hasOwn(commandHelp, one));
  if (name === undefined) {
    return programHelp();
  }
  const [usage, text, flags = ""] = commandHelp[name]!;
  const storage = name === "export" ? dataFlag : storageFlags;
  return `Usage: animal-store ${name} ${usage}\n\n${text.trim()}\n\n${flags.slice(1)}${storage}\n`;
}

function programHelp(): string {
  const settings = Object.entries<Row>(settingRows).map(([flag, [, placeholder, meaning, fallback]]) => {
    const usage = `--${flag} ${placeholder}`.padEnd(25);
    const byDefault = fallback === undefined ? "" : ` (default: ${fallback})`;
    return `  ${usage} ${meaning}${byDefault}\n${" ".repeat(28)}env: ${variableOf(flag)}\n`;
  });
  return `Usage: animal-store [FLAGS]                starts the service
       animal-store keys COMMAND [FLAGS]   makes, lists, changes and revokes API keys
       animal-store import FILE [FLAGS]    adds the animals of a JSON-lines file, or copies a data folder to a database
       animal-store export FOLDER [FLAGS]  writes a compacted data folder
       animal-store check [FLAGS]          says whether the service would start with the same flags; salvages a folder

Each setting is a flag, or the environment variable below it (env).

${settings.join("")}
  --help, --version         also after each command
`;
}

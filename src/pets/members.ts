/**
 * The members of an animal between its id and its status: the one place where they are defined. Whatever reads, writes,
 * stores or describes an animal is made from this table: validation, JSON, the lines of pets.jsonl, the columns of the
 * database, the description, and the animals of the test suites. The status is not in it, because it is the one thing
 * about an animal that changes: it is the entity tag, a filter of the list, and an index in memory.
 *
 * The names and their order, which is that of the JSON text, are published and never change. A new member comes last,
 * and is optional, because the animals that are stored already lack it.
 */

/** The statuses, in the order of the description. In a file a change may also say `removed`. */
export const petStatuses = ["available", "pending", "sold"] as const;
export type PetStatus = (typeof petStatuses)[number];

/** An animal for a store. The client, and `service.pets`, have a type of their own, which is less exact. */
export interface NewPet {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

interface Described<Value> {
  readonly isOptional?: boolean;
  /** The name of its schema in the description. */
  readonly schema: string;
  /** For the description, as Markdown. */
  readonly description: string;
  /** The values that the two animals in the description have. */
  readonly examples: readonly [Value, Value];
}

/** 1 to `codePointsMax` code points, well-formed, without U+0000, not only white space. */
export interface Text extends Described<string> {
  readonly kind: "text";
  readonly codePointsMax: number;
}

/** From `int64Min` to `int64Max`: exact to the last digit, which a `number` could not be. */
export interface Integer extends Described<number> {
  readonly kind: "integer";
}

type Facts<Value> = (Value & {} extends string ? Text : Integer) &
  (undefined extends Value ? { readonly isOptional: true } : { readonly isOptional?: false });

type Name = Exclude<keyof NewPet, "status">;

const table: { readonly [Member in Name]-?: Facts<NewPet[Member]> } = {
  name: {
    kind: "text",
    codePointsMax: 255,
    schema: "PetName",
    description: "The name of the animal",
    examples: ["Rex", "Misty"],
  },
  categoryId: {
    kind: "integer",
    schema: "CategoryId",
    description: "The category of the animal, a number of your own",
    examples: [5, 7],
  },
};

export type Member = (Text | Integer) & { readonly name: Name };

export const members: readonly Member[] = Object.entries(table).map(([name, facts]) => ({
  name: name as Name, // Every key of the table is one.
  ...facts,
}));

const integerCharactersMax = String(int64Min).length;

/** The most bytes that the members take as JSON text: an escaped code point has six bytes at most. */
export const membersBytesMax = members.reduce((sum, member) => {
  const characters = member.kind === "text" ? 6 * member.codePointsMax : integerCharactersMax;
  return sum + `,"${member.name}":""`.length + characters;
}, 0);

import * as z from 'zod';

const text = z.string().optional();
const flag = z.boolean().optional();
const number = z.int().optional();

/** Maximum number of mistakes that are listed: one takes a thousand times its length in memory. */
const mostMistakes = 100;

const list = <T extends z.ZodType>(entry: T): z.ZodOptional<z.ZodArray<T>> =>
  z
    .array(z.unknown())
    .superRefine((entries, context) => {
      for (const [at, one] of entries.entries()) {
        if (context.issues.length >= mostMistakes) return;
        for (const { path, message } of entry.safeParse(one).error?.issues ?? [])
          context.addIssue({ code: 'custom', path: [at, ...path], message });
      }
    })
    .optional() as z.ZodOptional<z.ZodArray<z.ZodType>> as z.ZodOptional<z.ZodArray<T>>;
const object = <T extends z.ZodRawShape>(shape: T): z.ZodOptional<z.ZodObject<T>> =>
  z.object(shape).optional();

const resource = z.object({
  source: text,
  compression: text,
  verification: object({ hash: text }),
});
const owner = object({ id: number, name: text });
const node = { path: z.string(), overwrite: flag, user: owner, group: owner };
const named = { name: z.string() };

/**
 * The members of an Ignition config of spec 3 that Bootwright reads. Other members are kept and
 * passed on; Ignition judges them at the first boot.
 */
export const configShape = z.object({
  ignition: z.object({
    version: z.string(),
    config: object({ merge: list(resource), replace: resource.optional() }),
    security: object({ tls: object({ certificateAuthorities: list(resource) }) }),
  }),
  kernelArguments: object({ shouldExist: list(z.string()), shouldNotExist: list(z.string()) }),
  passwd: object({
    groups: list(z.object(named)),
    users: list(
      z.object({
        ...named,
        homeDir: text,
        passwordHash: text,
        sshAuthorizedKeys: list(z.string()),
      }),
    ),
  }),
  storage: object({
    directories: list(z.object({ ...node, mode: number })),
    disks: list(
      z.object({
        device: z.string(),
        wipeTable: flag,
        partitions: list(
          z.object({ number, label: text, typeGuid: text, guid: text, wipePartitionEntry: flag }),
        ),
      }),
    ),
    files: list(
      z.object({ ...node, mode: number, contents: resource.optional(), append: list(resource) }),
    ),
    filesystems: list(
      z.object({ device: z.string(), format: text, path: text, wipeFilesystem: flag }),
    ),
    links: list(z.object({ ...node, target: text, hard: flag })),
    luks: list(z.object({ ...named, device: text, wipeVolume: flag })),
    raid: list(z.object({ ...named, devices: list(z.string()) })),
  }),
  systemd: object({
    units: list(
      z.object({
        ...named,
        contents: text,
        enabled: flag,
        mask: flag,
        dropins: list(z.object({ ...named, contents: text })),
      }),
    ),
  }),
});

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/** An Ignition config of spec 3 as parsed, without nulls. */
export type Config = Frozen<z.infer<typeof configShape>>;

/** Content from a URL, which may be a data URL. */
export type Resource = Frozen<z.infer<typeof resource>>;

/** Disks, partitions, file systems and files. */
export type Storage = NonNullable<Config['storage']>;

/** A file. `mode` is decimal in JSON: 420 is 0644. */
export type File = NonNullable<Storage['files']>[number];

/** A user account. */
export type PasswdUser = NonNullable<NonNullable<Config['passwd']>['users']>[number];

/** A unit: its text, its drop-ins, whether it is enabled or masked. */
export type Unit = NonNullable<NonNullable<Config['systemd']>['units']>[number];

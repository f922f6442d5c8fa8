import fc from '../support/properties.ts';

/** A config as JSON. */
type LooseConfig = Record<string, unknown>;
type Fields = Record<string, fc.Arbitrary<unknown>>;

const one = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const flag = fc.boolean();
const size = one(10, 20);
const id = one(0, 1, 1000);
const text = one('a', 'b', 'c');
const texts = fc.uniqueArray(text, { maxLength: 3 });
const repeated = fc.array(text, { maxLength: 3 });

/** An object with the required members, and sometimes the others. */
const object = (required: Fields, others: Fields = {}): fc.Arbitrary<LooseConfig> =>
  fc.record({ ...required, ...others }, { requiredKeys: Object.keys(required) });

/** A typical error occurs once in this many values. */
const oneBrokenIn = 25;

/** Generates configs of a spec with every member that has a merge rule of its own. */
class Maker {
  readonly #minor: number;
  readonly #isBroken: boolean;

  constructor(minor: number, isBroken: boolean) {
    this.#minor = minor;
    this.#isBroken = isBroken;
  }

  #since(minor: number, members: Fields): Fields {
    return this.#minor >= minor ? members : {};
  }

  #orBroken<T>(sound: fc.Arbitrary<T>, ...broken: T[]): fc.Arbitrary<T> {
    if (!this.#isBroken) return sound;
    return fc.oneof(
      { weight: oneBrokenIn, arbitrary: sound },
      { weight: 1, arbitrary: one(...broken) },
    );
  }

  /** Entries with different keys, unless the config is to have an error. */
  #list(entry: fc.Arbitrary<LooseConfig>, keyOf: (entry: LooseConfig) => unknown) {
    const unique = fc.uniqueArray(entry, { maxLength: 3, selector: keyOf });
    if (!this.#isBroken) return unique;
    const any = fc.array(entry, { maxLength: 3 });
    return fc.oneof({ weight: oneBrokenIn, arbitrary: unique }, { weight: 1, arbitrary: any });
  }

  #by(key: string, entry: fc.Arbitrary<LooseConfig>) {
    return this.#list(entry, (made) => made[key]);
  }

  #resource(hasHeaders = this.#minor >= 1): fc.Arbitrary<LooseConfig> {
    const header = object({ name: one('A', 'B') }, { value: one('1', '2') });
    const fetched = object(
      { source: one('http://h/a', 'http://h/b') },
      hasHeaders ? { httpHeaders: this.#by('name', header) } : {},
    );
    return fc.oneof(object({ source: one('data:,a', 'data:;base64,YQ==') }), fetched);
  }

  #node(): Fields {
    const path = this.#orBroken(one('/a', '/b', '/c', '/e/f', '/g h'), '', 'a', '/a/b', '/a/');
    return { path };
  }

  #owned(): Fields {
    const owner = fc.oneof(object({ id }), object({ name: text }));
    return { user: owner, group: owner, overwrite: one(false) };
  }

  storage(): Fields {
    const device = one('/dev/sda', '/dev/sdb', '/dev/sdc');
    const sizes = { startMiB: one(0, 100), sizeMiB: one(0, 50), wipePartitionEntry: flag };
    const partition = fc.oneof(
      object({ number: one(1, 2) }, { label: one('root', 'boot'), ...sizes }),
      object({ label: one('root', 'boot') }, sizes),
    );
    const label = one('x', 'y');
    const tang = object({ url: one('http://a', 'https://b'), thumbprint: text });
    const luks = object(
      { name: text, device },
      {
        options: repeated,
        label,
        wipeVolume: flag,
        clevis: object({}, { tang: this.#by('url', tang), tpm2: flag }),
        keyFile: this.#resource(),
        ...this.#since(4, { openOptions: texts, discard: flag }),
      },
    );
    const [node, owned] = [this.#node(), this.#owned()];
    return {
      directories: this.#by('path', object(node, { ...owned, mode: size })),
      files: this.#by(
        'path',
        object(node, {
          ...owned,
          mode: size,
          contents: this.#resource(),
          append: fc.array(this.#resource(), { maxLength: 2 }),
        }),
      ),
      links: this.#by('path', object({ ...node, target: one('/a', 'b') }, { hard: flag })),
      disks: this.#by(
        'device',
        object(
          { device },
          {
            wipeTable: flag,
            partitions: this.#list(partition, ({ number, label: name }) => number ?? name),
          },
        ),
      ),
      filesystems: this.#by(
        'device',
        object(
          { device, format: one('ext4', 'xfs') },
          { label, options: repeated, ...this.#since(1, { mountOptions: repeated }) },
        ),
      ),
      raid: this.#by(
        'name',
        object(
          {
            name: text,
            level: one('raid1', '5'),
            devices: fc.uniqueArray(device, { minLength: 2 }),
          },
          { options: repeated },
        ),
      ),
      ...this.#since(2, { luks: this.#by('name', luks) }),
    };
  }

  sections(): Record<string, Fields> {
    const reference = this.#resource();
    const proxy = object({}, { httpProxy: one('http://p', 'http://q'), noProxy: texts });
    const user = object(
      { name: one('core', 'a') },
      { groups: texts, sshAuthorizedKeys: texts, passwordHash: text, uid: id, system: flag },
    );
    const dropin = object({ name: one('a.conf', 'b.conf') }, { contents: one('', '[A]\n') });
    const unit = object(
      { name: one('a.service', 'b.mount') },
      {
        contents: one('', '[Unit]\n'),
        enabled: flag,
        mask: flag,
        dropins: this.#by('name', dropin),
      },
    );
    return {
      ignition: {
        config: object({}, { merge: this.#by('source', reference), replace: reference }),
        timeouts: object({}, { httpTotal: id, httpResponseHeaders: id }),
        security: object(
          {},
          { tls: object({}, { certificateAuthorities: this.#by('source', reference) }) },
        ),
        ...this.#since(1, { proxy }),
      },
      passwd: {
        users: this.#by('name', user),
        groups: this.#by('name', object({ name: text }, { gid: id })),
      },
      storage: this.storage(),
      systemd: { units: this.#by('name', unit) },
      ...(this.#minor < 3
        ? {}
        : { kernelArguments: { shouldExist: texts, shouldNotExist: texts } }),
    };
  }
}

const withVersion = (config: LooseConfig, minor: number): LooseConfig => ({
  ...config,
  ignition: { ...(config['ignition'] as object), version: `3.${minor}.0` },
});

/** Configs of one spec, some of which violate a rule. */
export function configs(minor: number): fc.Arbitrary<LooseConfig> {
  const sections = Object.entries(new Maker(minor, true).sections());
  return fc
    .record(Object.fromEntries(sections.map(([name, members]) => [name, object({}, members)])), {
      requiredKeys: [],
    })
    .map((config) => withVersion(config, minor));
}

/** Two valid configs with common parts: the same one or two members of one section. */
export function configPairs([first, other]: readonly [number, number]): fc.Arbitrary<
  LooseConfig[]
> {
  const [parents, children] = [first, other].map((minor) => new Maker(minor, false).sections());
  const both = Object.keys(parents ?? {}).filter((name) => children?.[name] !== undefined);
  return fc.constantFrom(...both).chain((name) => {
    const [parent = {}, child = {}] = [parents?.[name], children?.[name]];
    const members = Object.keys(parent).filter((member) => Object.hasOwn(child, member));
    return fc
      .subarray(members, { minLength: 1, maxLength: Math.min(2, members.length) })
      .chain((kept) => {
        const made = (from: Fields): fc.Arbitrary<LooseConfig> =>
          object(Object.fromEntries(kept.map((member) => [member, from[member]!])));
        return fc
          .tuple(made(parent), made(child))
          .map(([ours, theirs]) => [
            withVersion({ [name]: ours }, first),
            withVersion({ [name]: theirs }, other),
          ]);
      });
  });
}

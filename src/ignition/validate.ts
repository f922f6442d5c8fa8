import { type Decoded, type DecodedObject, keyOfEntry } from './decode.ts';
import { finding, type Finding, type FindingRule, memberPath } from './finding.ts';
import { decodeDataUrl, isDataUrl } from './resource.ts';
import { configShape } from './schema.ts';
import type { ObjectShape, Shape } from './shape.ts';
import type { Config, Link, Node, Resource, Storage, Unit } from './types.ts';
import { readSpec, type SpecMinor } from './version.ts';

/** Checks one value of a type and reports at its place. */
type Validator<T> = (value: T, place: Place) => void;

/** The place in a config that is checked and reported on. */
class Place {
  /** Rules differ a little from spec to spec. */
  readonly minor: SpecMinor;
  readonly #path: string;
  readonly #findings: Finding[];

  constructor(minor: SpecMinor, findings: Finding[], path = '') {
    this.minor = minor;
    this.#findings = findings;
    this.#path = path;
  }

  /** The place of a member or of a list's entry. */
  at(...segments: readonly (string | number)[]): Place {
    return new Place(this.minor, this.#findings, memberPath(this.#path, ...segments));
  }

  /** Reports a rule that is broken here; no rule is no report. */
  report(rule: FindingRule | undefined): void {
    if (rule !== undefined) this.#findings.push(finding(rule, this.#path));
  }
}

const validatePath: Validator<Node> = ({ path }, place) =>
  place.at('path').report(pathViolation(path));

const validateResource: Validator<Resource> = ({ source = '' }, place) => {
  try {
    if (isDataUrl(source)) decodeDataUrl(source);
  } catch {
    place.at('source').report('data-url-invalid');
  }
};

/** The validator of each object shape, by the shape's name. */
const validators = new Map<string, Validator<never>>(
  Object.entries({
    Config: validateConfigPaths,
    Storage: validateStorage,
    Resource: validateResource,
    Reference: validateResource,
    File: validatePath,
    Directory: validatePath,
    Link: validatePath,
  }),
);

/**
 * Validates what this program merges, reads or adds to: entries with one key, paths, links and
 * embedded content. The rest is passed on, as coreos-installer does: Ignition judges it at the
 * first boot, by rules that change with its version. What is refused here, Ignition refuses too.
 * Nothing is fetched, and a merged config must be validated again.
 *
 * @throws AgentError `ignition.no-version` and the like, for a version that is not known
 */
export function validateConfig(config: Config): readonly Finding[] {
  const findings: Finding[] = [];
  const { minor } = readSpec(config.ignition.version);
  for (const { shape, value, path } of visitObjects(config)) {
    const place = new Place(minor, findings, path);
    validators.get(shape.name)?.(value as never, place);
    validateDuplicates(shape, value, place);
  }
  return findings;
}

/** An object of a config with its place. */
interface VisitedObject {
  readonly shape: ObjectShape;
  readonly value: DecodedObject;
  readonly path: string;
}

/** All objects of a config, each before those in it. */
export const visitObjects = (config: Config): readonly VisitedObject[] =>
  objectsIn(configShape, config, '');

function objectsIn(shape: Shape, value: Decoded, path: string): readonly VisitedObject[] {
  if (shape.kind === 'list')
    return (value as readonly Decoded[]).flatMap((entry, index) =>
      objectsIn(shape.item, entry, memberPath(path, index)),
    );
  if (shape.kind !== 'object') return [];
  const object = value as DecodedObject;
  const inside = Object.entries(shape.fields).flatMap(([name, field]) => {
    const member = object[name];
    return member === undefined ? [] : objectsIn(field.shape, member, memberPath(path, name));
  });
  return [{ shape, value: object, path }, ...inside];
}

/** No two entries of a list with keys, or of lists that share their keys, may have the same key. */
function validateDuplicates(shape: ObjectShape, value: DecodedObject, place: Place): void {
  const shared = new Set<string>();
  for (const [name, field] of Object.entries(shape.fields)) {
    const list = value[name];
    if (field.shape.kind !== 'list' || field.shape.merges !== 'by-key') continue;
    const seen = shape.sharedKeys.includes(name) ? shared : new Set<string>();
    for (const [index, entry] of ((list ?? []) as readonly Decoded[]).entries()) {
      const key = keyOfEntry(field.shape, entry);
      if (seen.has(key)) place.at(name, index).report('duplicate-entry');
      seen.add(key);
    }
  }
}

/** The relations between the parts of the storage section. */
function validateStorage(storage: Storage, place: Place): void {
  const { directories = [], files = [], links = [] } = storage;
  const linkPaths = new Set(links.map(({ path }) => path));
  const directoryPaths = new Set(directories.map(({ path }) => path));
  for (const [list, nodes] of Object.entries({ directories, files, links })) {
    for (const [index, { path }] of nodes.entries()) {
      if (isBelow(linkPaths, path)) place.at(list, index).report('path-through-link');
    }
  }
  for (const [index, link] of links.entries()) {
    validateTarget(link, directoryPaths, place.at('links', index));
  }
}

/** A path of Linux is no longer (limits.h, PATH_MAX). */
const longestPath = 4096;

/** Whether what stands before a slash of the path is one of the links. */
const isBelow = (links: ReadonlySet<string>, path: string): boolean =>
  links.size > 0 &&
  [...path.slice(0, longestPath).matchAll(/\//g)].some(({ index }) =>
    links.has(path.slice(0, index)),
  );

function validateTarget(link: Link, directories: ReadonlySet<string>, place: Place): void {
  const { target = '', hard = false } = link;
  // Up to spec 3.2 an empty target is accepted.
  if (target === '' && place.minor >= 3) {
    place.at('target').report('link-target-required');
    return;
  }
  if (!hard) return;
  const isAbsolute = target.startsWith('/');
  const resolved = simplifyPath(isAbsolute ? target : `${link.path}/${target}`);
  if (directories.has(resolved)) place.report('hard-link-to-directory');
}

const UNIT_FOLDER = '/etc/systemd/system/';

/** No file, directory or link may be where a unit or a drop-in is written. */
function validateConfigPaths({ storage, systemd }: Config, place: Place): void {
  const unitPaths = new Set((systemd?.units ?? []).flatMap(pathsOfUnit));
  for (const list of ['files', 'directories', 'links'] as const) {
    for (const [index, { path }] of (storage?.[list] ?? []).entries()) {
      if (unitPaths.has(path)) place.at('storage', list, index, 'path').report('path-is-unit');
    }
  }
}

/** What Ignition writes for a unit; a unit or a drop-in without text is not written. */
function pathsOfUnit({ contents = '', dropins = [], name }: Unit): string[] {
  const path = UNIT_FOLDER + name;
  const written = dropins.filter((dropin) => (dropin.contents ?? '') !== '');
  const paths = written.map((dropin) => `${path}.d/${dropin.name}`);
  return contents === '' ? paths : [path, ...paths];
}

/** The rule that a path on the target system breaks, if any: absolute, with nothing to simplify. */
function pathViolation(path: string): FindingRule | undefined {
  if (path === '') return 'path-empty';
  if (!path.startsWith('/')) return 'path-relative';
  return path === simplifyPath(path) ? undefined : 'path-not-canonical';
}

/** A path without empty, `.` and `..` segments, as Go's `path.Clean` gives it. */
export function simplifyPath(path: string): string {
  const isAbsolute = path.startsWith('/');
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    const last = segments.at(-1);
    if (segment !== '..' || (!isAbsolute && (last === undefined || last === '..'))) {
      segments.push(segment);
    } else {
      segments.pop();
    }
  }
  const joined = segments.join('/');
  if (isAbsolute) return `/${joined}`;
  return joined === '' ? '.' : joined;
}

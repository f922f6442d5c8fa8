import { Buffer } from 'node:buffer';
import { parseJson } from '../ignition/json.ts';
import { lintOSConfig, referenceFindings } from '../layering/api/os-config-findings.ts';
import { readMachineOSConfig, segmentsOf } from '../layering/api/os-config.ts';
import { type Fields, fieldsOf, isFields, textOf, type Value } from '../lib/fields.ts';
import {
  itemsOf,
  type Path,
  readDocuments,
  type SourceObject,
} from '../layering/api/source-object.ts';
import {
  decodeSource,
  isSourceFinding,
  type LintFinding,
  type SourceFile,
} from '../layering/api/source-text.ts';
import {
  isBuiltBefore,
  isManifestName,
  readOsManifests,
} from '../layering/manifests/bootstrap-manifests.ts';
import { operatorPools, withoutMadeSecret } from '../layering/manifests/check-manifests.ts';
import { AgentError } from '../model/failure.ts';
import type { KubeObject } from '../ports/kube.ts';
import { ownNames } from './api.ts';
import { lintMachineConfig } from '../layering/manifests/lint-machine-config.ts';

/** What is wrong with an object that a user gives, and where. */
export interface InputFinding {
  /** Name of the Secret; empty for an object that is none. */
  readonly secret: string;
  /** Key of the Secret, which is the name of a file. */
  readonly file?: string;
  /** From 1, both. */
  readonly line?: number;
  readonly column?: number;
  /** What is wrong, and what to write instead. Content is never quoted: it may be secret. */
  readonly why: string;
  /** It is taken all the same. */
  readonly isWarning?: true;
  /** Something is there twice. */
  readonly isDuplicate?: true;
}

/** The findings for a condition: the first of them, and how many more there are. */
export function findingsLine(findings: readonly InputFinding[]): string {
  const more = findings.length > mostShown ? `; and ${findings.length - mostShown} more` : '';
  return `${findings.slice(0, mostShown).map(findingInSecret).join('; ')}${more}`;
}

const mostShown = 5;

/** `data[FILE]:LINE:COLUMN: WHY`, as the API server shows it. */
export function findingText({ file, line, column, why }: InputFinding): string {
  if (file === undefined) return why;
  return `data[${file}]${line === undefined ? '' : `:${line}:${column ?? 1}`}: ${why}`;
}

/** `SECRET/FILE:LINE:COLUMN: WHY`, for whoever has several Secrets before them. */
export function findingInSecret({ secret, file, line, column, why }: InputFinding): string {
  const place = [file === undefined ? secret : `${secret}/${file}`];
  if (line !== undefined) place.push(String(line), String(column ?? 1));
  return `${place.join(':')}: ${why}`;
}

/**
 * A place as layering writes it, `FILE:LINE:COLUMN`, and what is wrong there, as a finding of a
 * Secret.
 */
export function findingAt(
  { secret, file }: { readonly secret: string; readonly file: string },
  place: string,
  why: string,
): InputFinding {
  const [, line = '1', column = '1'] = /:(\d+)(?::(\d+))?$/.exec(place.slice(file.length)) ?? [];
  return { secret, file, line: Number(line), column: Number(column), why };
}

/** Folders of the installer that take manifests. */
export const installerFolders = ['manifests', 'openshift'] as const;

/**
 * The content of a Secret by key, in the order of the keys: `data` decoded, `stringData` over it.
 */
export function filesOfSecret(secret: KubeObject): readonly (readonly [string, Buffer])[] {
  const { data, stringData } = secret as { readonly data?: unknown; readonly stringData?: unknown };
  const files = new Map<string, Buffer>();
  for (const [key, text] of Object.entries(fieldsOf(data as Fields)))
    files.set(key, Buffer.from(textOf(text), 'base64'));
  for (const [key, text] of Object.entries(fieldsOf(stringData as Fields)))
    files.set(key, Buffer.from(textOf(text)));
  return [...files].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** An object among manifests, by what another must not have. */
interface FoundManifest extends FilePlace {
  readonly place: string;
  /** Undefined for one that the API server names. */
  readonly identity: string | undefined;
  /** For people: `Secret a of the namespace b`. */
  readonly title: string;
}

interface ReadSecret {
  readonly findings: readonly InputFinding[];
  readonly manifests: readonly FoundManifest[];
  readonly files: readonly string[];
}

/** By the object itself: a store gives the same one until it changes. */
const known = new WeakMap<KubeObject, ReadSecret>();

function readSecret(secret: KubeObject): ReadSecret {
  const before = known.get(secret);
  if (before !== undefined) return before;
  const name = secret.metadata.name;
  const files = filesOfSecret(secret);
  const read = files.map(([file, bytes]) => readFile({ secret: name, file }, bytes));
  const folder = secret.metadata.annotations?.[ownNames.manifestFolder];
  const result: ReadSecret = {
    findings: [
      ...(installerFolders.some((one) => one === folder) ? [] : [folderFinding(name)]),
      ...(files.length === 0 ? [{ secret: name, why: 'the Secret holds no manifest' }] : []),
      ...read.flatMap(({ findings }) => findings),
    ],
    manifests: read.flatMap(({ manifests }) => manifests),
    files: files.map(([file]) => file),
  };
  known.set(secret, result);
  return result;
}

const folderFinding = (secret: string): InputFinding => ({
  secret,
  why: `metadata.annotations[${ownNames.manifestFolder}]: expected ${installerFolders.join(' or ')}, the folder of the installer that the files are for`,
});

interface FilePlace {
  readonly secret: string;
  readonly file: string;
}

type ReadFile = Pick<ReadSecret, 'findings' | 'manifests'>;

const onlyFinding = (finding: InputFinding): ReadFile => ({ findings: [finding], manifests: [] });

function readFile(at: FilePlace, bytes: Buffer): ReadFile {
  if (!/^[A-Za-z0-9][-._A-Za-z0-9]*$/.test(at.file) || !isManifestName(at.file)) {
    const why =
      'the name of a manifest is of letters, digits, -, _ and ., begins with a letter or a digit, and ends with .yaml, .yml or .json';
    return onlyFinding({ ...at, why });
  }
  const text = decodeSource(at.file, bytes);
  if (isSourceFinding(text)) return onlyFinding(findingAt(at, text.place, text.problem));
  const strict = at.file.endsWith('.json') ? jsonFinding(at, text) : undefined;
  if (strict !== undefined) return onlyFinding(strict);
  const documents = readDocuments(text, 'an object', { columns: true });
  if (documents.length === 0) return onlyFinding(findingAt(at, '', 'the file is empty'));
  const findings: InputFinding[] = [];
  const manifests: FoundManifest[] = [];
  for (const document of documents) {
    if (isSourceFinding(document)) {
      findings.push(findingAt(at, document.place, document.problem));
      continue;
    }
    for (const { place, why, ...more } of objectFindings(document))
      findings.push({ ...findingAt(at, place, why), ...more });
    manifests.push({ ...at, ...identityOf(document) });
  }
  findings.push(...laterDocuments(at, documents));
  return { findings, manifests };
}

/** JSON by the letter: what the YAML parser takes beside it is refused by other readers. */
function jsonFinding(at: FilePlace, { text }: SourceFile): InputFinding | undefined {
  try {
    parseJson(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { line = 1, column = 1, problem = 'the file is empty' } = error.context;
    const why = error.code === 'ignition.not-json' ? `this is not JSON: ${problem}` : problem;
    return { ...at, line: Number(line), column: Number(column), why: String(why) };
  }
}

/**
 * bootkube creates the first document of a file and passes over the others
 * (https://github.com/openshift/library-go/blob/master/pkg/assets/create/creater.go, `load`); the
 * Machine Config Operator reads all.
 */
function laterDocuments(
  at: FilePlace,
  documents: ReturnType<typeof readDocuments>,
): readonly InputFinding[] {
  return documents.slice(1).flatMap((document) => {
    if (isSourceFinding(document)) return [];
    if (textOf(document.value['apiVersion']).startsWith('machineconfiguration.openshift.io/'))
      return [];
    const why = 'bootkube creates only the first object of a file: give this one a file of its own';
    return [{ ...findingAt(at, document.place([]), why), isWarning: true as const }];
  });
}

/** `group/version`, or `v1` of the core group. */
const apiVersionForm =
  /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const kindForm = /^[A-Z][A-Za-z0-9]{0,62}$/;

/** What is wrong with an object, whatever its kind, and with one of a kind that is known here. */
export function objectFindings(source: SourceObject): readonly PlacedFinding[] {
  const { value, place } = source;
  const { apiVersion, kind } = value;
  const shape: PlacedFinding[] = [];
  const refuse = (path: readonly string[], why: string): void => {
    shape.push({ place: place(path), why });
  };
  if (!apiVersionForm.test(textOf(apiVersion)))
    refuse(['apiVersion'], 'apiVersion is expected, as v1 or apps/v1');
  if (!kindForm.test(textOf(kind))) refuse(['kind'], 'kind is expected, one word as ConfigMap');
  // bootkube creates nothing at all while a List is among the manifests (the same `load`).
  else if (itemsOf(value) !== undefined)
    refuse(['items'], 'a List is not taken among manifests: give each object a file of its own');
  if (shape.length > 0) return shape;
  return [...metadataFindings(source), ...knownKindFindings(source)];
}

function metadataFindings({ value, place }: SourceObject): readonly PlacedFinding[] {
  const { metadata } = value;
  if (!isFields(metadata))
    return [{ place: place(['metadata']), why: 'metadata with a name is expected' }];
  const { name, generateName, namespace } = metadata;
  const isNamed = textOf(name) !== '' || (name === undefined && textOf(generateName) !== '');
  const isText = namespace === undefined || namespace === null || typeof namespace === 'string';
  const rules: readonly (readonly [isBroken: boolean, member: string, why: string])[] = [
    [!isNamed, 'name', 'metadata.name is expected, a text'],
    [/[/%]|^\.{1,2}$/.test(textOf(name)), 'name', 'metadata.name is no segment of a path'],
    [!isText, 'namespace', 'metadata.namespace must be a text: write it in quotes'],
  ];
  const within = {
    value: metadata,
    place: (path: Path) => place(['metadata', ...path]),
  };
  return [
    ...rules.flatMap(([isBroken, member, why]) =>
      isBroken ? [{ place: place(['metadata', member]), why }] : [],
    ),
    ...['labels', 'annotations'].flatMap((member) => textMembers(within, member, ['metadata'])),
  ];
}

function identityOf({
  value,
  place,
}: SourceObject): Pick<FoundManifest, 'place' | 'identity' | 'title'> {
  const { apiVersion, kind, metadata } = value;
  const { name, namespace } = fieldsOf(metadata);
  const group = textOf(apiVersion).includes('/') ? (textOf(apiVersion).split('/')[0] ?? '') : '';
  const at = { place: place(['metadata', 'name']) };
  const below = textOf(namespace) === '' ? '' : ` of the namespace ${textOf(namespace)}`;
  const title = `${textOf(kind)} ${textOf(name)}${below}`;
  const parts = [group, textOf(kind), textOf(namespace), textOf(name)];
  const isWhole = parts[1] !== '' && parts[3] !== '';
  return { ...at, title, identity: isWhole ? JSON.stringify(parts) : undefined };
}

/**
 * What is wrong with the manifests of one installation, all Secrets together: each by itself, in
 * their order, then files and objects that a Secret before has too.
 */
export function checkManifests(secrets: readonly KubeObject[]): readonly InputFinding[] {
  const read = secrets.map((secret) => ({ name: secret.metadata.name, ...readSecret(secret) }));
  const findings = read.flatMap((one) => one.findings);
  const files = new Map<string, string>();
  for (const { name, files: own } of read) {
    for (const file of own) {
      const first = files.get(file);
      const why = `the Secret ${first ?? ''} has a file of this name too`;
      if (first === undefined) files.set(file, name);
      // bootkube puts both folders into one.
      else findings.push({ secret: name, file, why, isDuplicate: true });
    }
  }
  const objects = new Map<string, FoundManifest>();
  for (const manifest of read.flatMap(({ manifests }) => manifests)) {
    if (manifest.identity === undefined) continue;
    const first = objects.get(manifest.identity);
    if (first === undefined) objects.set(manifest.identity, manifest);
    else findings.push(twice(manifest, first));
  }
  return findings;
}

function twice({ place, title, ...at }: FoundManifest, first: FoundManifest): InputFinding {
  const where = first.secret === at.secret ? '' : ` of the Secret ${first.secret}`;
  const { line = 1 } = findingAt(first, first.place, '');
  const { secret, file } = at;
  const why = `${title} is given twice: also in data[${first.file}]:${line}${where}`;
  return { ...findingAt({ secret, file }, place, why), isDuplicate: true };
}

/**
 * What MachineOSConfigs among the manifests refer to and nobody gives: Secrets, pools. It is asked
 * once no more Secrets come, and of manifests with nothing else wrong.
 */
export function checkReferences(secrets: readonly KubeObject[]): readonly InputFinding[] {
  const from = new Map<string, FilePlace>();
  const files = secrets.flatMap((secret) =>
    filesOfSecret(secret).map(([file, bytes]) => {
      const path = `${secret.metadata.name}/${file}`;
      from.set(path, { secret: secret.metadata.name, file });
      return { path, text: bytes.toString() };
    }),
  );
  const { osConfigs, pools, secrets: given } = readOsManifests(files);
  const there = {
    pools: [...operatorPools, ...pools],
    secrets: given.map(({ secret }) => secret),
  };
  return osConfigs
    .filter(({ object }) => !isBuiltBefore(object))
    .flatMap(({ path, object }) => {
      const at = from.get(path) ?? { secret: '', file: path };
      const config = withoutMadeSecret(readMachineOSConfig(object));
      return referenceFindings(config, there).map((one) =>
        findingAt(
          ...([at, object.place(segmentsOf(one.path)).slice(at.secret.length + 1)] as const),
          `${one.path}: ${one.message}`,
        ),
      );
    });
}

/** What is wrong at a place, `FILE:LINE:COLUMN`. */
export interface PlacedFinding {
  readonly place: string;
  readonly why: string;
  readonly isWarning?: true;
}

const operatorGroup = 'machineconfiguration.openshift.io';

/** What is wrong with an object of a kind that is known here; nothing for another one. */
export function knownKindFindings(source: SourceObject): readonly PlacedFinding[] {
  const { apiVersion, kind } = source.value;
  const [group = '', version] = textOf(apiVersion).split('/');
  if (group === operatorGroup && version !== undefined) {
    if (kind === 'MachineConfig') return placed(lintMachineConfig(source));
    if (kind === 'MachineOSConfig') return placed(lintOSConfig(source));
  }
  if (apiVersion !== 'v1') return [];
  if (kind === 'Secret')
    return [...textMembers(source, 'stringData'), ...encodedMembers(source, 'data')];
  if (kind === 'ConfigMap')
    return [...textMembers(source, 'data'), ...encodedMembers(source, 'binaryData')];
  return [];
}

const placed = (findings: readonly LintFinding[]): readonly PlacedFinding[] =>
  findings.map(({ place, message, severity }) => ({
    place,
    why: message,
    ...(severity === 'warning' ? { isWarning: true } : {}),
  }));

/** Words such as `on` and numbers are no texts, and the API server takes nothing else. */
export function textMembers(
  { value, place }: Pick<SourceObject, 'value' | 'place'>,
  member: string,
  above: readonly string[] = [],
): readonly PlacedFinding[] {
  return membersOf(value[member]).flatMap(([key, one]) => {
    if (typeof one === 'string' || one === null) return [];
    const why = `${[...above, member].join('.')} ${key} must be a text: write it in quotes`;
    return [{ place: place([member, key]), why }];
  });
}

/** Base64 as Go's decoder takes it: with its padding, and with line breaks. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function encodedMembers({ value, place }: SourceObject, member: string): readonly PlacedFinding[] {
  return membersOf(value[member]).flatMap(([key, one]) => {
    if (one === null) return [];
    if (typeof one === 'string' && base64.test(one.replace(/[\r\n]/g, ''))) return [];
    return [{ place: place([member, key]), why: `${member} ${key} must be base64` }];
  });
}

const membersOf = (value: Value | undefined): readonly (readonly [string, Value])[] =>
  Object.entries(fieldsOf(value));

import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { parseJson } from '../ignition/json.ts';
import { lintOSConfig, referenceFindings } from '../layering/api/os-config-findings.ts';
import { readMachineOSConfig, segmentsOf } from '../layering/api/os-config.ts';
import {
  Annotations,
  isNamespace,
  isSubdomain,
  Labels,
  Quoted,
  subdomainRule,
} from '../layering/api/schema.ts';
import {
  itemsOf,
  readDocuments,
  type SourceObject,
  decodeSource,
  isSourceFinding,
  type LintFinding,
} from '../layering/api/source-object.ts';
import {
  isBuiltBefore,
  isManifestName,
  readOsManifests,
} from '../layering/manifests/bootstrap-manifests.ts';
import { operatorPools, withoutMadeSecret } from '../layering/manifests/check-manifests.ts';
import { lintMachineConfig } from '../layering/manifests/lint-machine-config.ts';
import { secretTexts } from '../layering/registry/credentials.ts';
import { type Fields, fieldsOf, isFields, textOf } from '../lib/fields.ts';
import { jsonIn } from '../lib/json.ts';
import { AgentError } from '../model/failure.ts';
import type { KubeObject } from '../ports/kube.ts';
import { ownNames } from './api.ts';

/** An error in a manifest Secret. It never quotes content, which may be secret. */
export interface ManifestFinding {
  readonly secret: string;
  /** `FILE` or `FILE:LINE:COLUMN`; empty for the Secret as a whole. */
  readonly place: string;
  /** The error, and how to correct it. */
  readonly why: string;
  /** Whether the manifest is used despite the finding. */
  readonly isWarning: boolean;
}

/** `SECRET/FILE:LINE:COLUMN: WHY`. */
export const manifestFindingText = ({ secret, place, why }: ManifestFinding): string =>
  `${place === '' ? secret : `${secret}/${place}`}: ${why}`;

type AddFinding = (place: string, why: string, isWarning?: boolean) => void;

/** Folders of the installer for manifests. */
export const installerFolders = ['manifests', 'openshift'] as const;

/** The content of a Secret by key, sorted by key. */
export const filesOfSecret = ({ data }: KubeObject): readonly (readonly [string, Buffer])[] =>
  Object.entries(fieldsOf(data))
    .map(([key, text]) => [key, Buffer.from(textOf(text), 'base64')] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));

/**
 * The findings of all manifests of one installation together; of their references only where there
 * is no other error. No later program reads a manifest before bootkube applies it, on a host whose
 * disk is written.
 */
export function checkManifests(secrets: readonly KubeObject[]): readonly ManifestFinding[] {
  const findings: ManifestFinding[] = [];
  // bootkube merges both folders, and creates an object once.
  const files = new Map<string, string>();
  const objects = new Map<string, string>();
  const all: PlacedObject[] = [];
  for (const secret of secrets) {
    const { name, annotations } = secret.metadata;
    const add: AddFinding = (place, why, isWarning = false) => {
      findings.push({ secret: name, place, why, isWarning });
    };
    const folder = annotations?.[ownNames.manifestFolder];
    if (!installerFolders.some((one) => one === folder))
      add('', `annotation ${ownNames.manifestFolder}: expected ${installerFolders.join(' or ')}`);
    const content = filesOfSecret(secret);
    if (content.length === 0) add('', 'the Secret holds no manifest');
    for (const [file, bytes] of content) {
      const before = firstUse(files, file, name);
      if (before !== undefined) add(file, `${before}/${file} has the same name`);
      for (const object of readManifest(file, bytes, add)) {
        requireOnce(objects, name, object, add);
        all.push({ secret: name, object });
      }
    }
  }
  findings.push(...withoutNamespace(all));
  return findings.every(({ isWarning }) => isWarning)
    ? [...findings, ...referencesIn(secrets)]
    : findings;
}

/** An object of a manifest Secret. */
interface PlacedObject {
  readonly secret: string;
  readonly object: SourceObject;
}

/** Findings about objects whose namespace nobody makes before bootkube has created them. */
function withoutNamespace(all: readonly PlacedObject[]): readonly ManifestFinding[] {
  const metadataText = ({ value }: SourceObject, key: string): string =>
    textOf(fieldsOf(value['metadata'])[key]);
  const made = new Set(
    all.flatMap(({ object }) =>
      object.value['kind'] === 'Namespace' ? metadataText(object, 'name') : [],
    ),
  );
  return all.flatMap(({ secret, object }) => {
    const namespace = metadataText(object, 'namespace');
    const isMade = ofRelease.test(namespace) || made.has(namespace);
    if (isMade || !isNamespace(namespace) || !isNamespaced(object.value)) return [];
    const place = object.place(['metadata', 'namespace']);
    const why = `no manifest makes the namespace ${namespace}, without which bootkube never creates this object`;
    return [{ secret, place, why, isWarning: false }];
  });
}

/** The place of a key's earlier use; at its first use, records the place and returns undefined. */
function firstUse(uses: Map<string, string>, key: string, place: string): string | undefined {
  const before = uses.get(key);
  if (before === undefined) uses.set(key, place);
  return before;
}

function requireOnce(
  objects: Map<string, string>,
  secret: string,
  object: SourceObject,
  add: AddFinding,
): void {
  const title = titleOf(object);
  const place = object.place(['metadata', 'name']);
  const first = title && firstUse(objects, title, `${secret}/${place}`);
  if (first !== undefined) add(place, `${title} is given twice: also in ${first}`);
}

/** The objects of a file. */
function readManifest(file: string, bytes: Uint8Array, add: AddFinding): readonly SourceObject[] {
  if (!/^[A-Za-z0-9][-._A-Za-z0-9]*$/.test(file) || !isManifestName(file)) {
    add(
      file,
      'the name of a manifest has letters, digits, -, _ and ., begins with a letter or a digit, and ends with .yaml, .yml or .json',
    );
    return [];
  }
  const source = decodeSource(file, bytes);
  if (isSourceFinding(source)) {
    add(source.place, source.message);
    return [];
  }
  if (file.endsWith('.json'))
    try {
      // The YAML parser accepts more than the other readers of the file do.
      parseJson(source.text);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const { line = 1, column = 1, problem = 'the file is empty' } = error.context;
      add(`${file}:${line}:${column}`, `not JSON: ${String(problem)}`);
      return [];
    }
  const documents = readDocuments(source, 'an object', { columns: true });
  if (documents.length === 0) add(`${file}:1:1`, 'the file is empty');
  return documents.flatMap((document, at) => {
    if (isSourceFinding(document)) {
      add(document.place, document.message);
      return [];
    }
    for (const { place, message, severity } of objectFindings(document))
      add(place, message, severity === 'warning');
    // bootkube creates only the first object of a file; the Machine Config Operator reads all
    // (openshift/library-go, `pkg/assets/create/creater.go`, `load`).
    if (at > 0 && !isOfOperator(document))
      add(
        document.place([]),
        'bootkube creates only the first object of a file: give this one a file of its own',
        true,
      );
    return [document];
  });
}

const isOfOperator = ({ value }: SourceObject): boolean =>
  textOf(value['apiVersion']).startsWith('machineconfiguration.openshift.io/');

/** `ConfigMap a of the namespace b`; undefined for an object with a generated name. */
function titleOf({ value }: SourceObject): string | undefined {
  const { apiVersion, kind, metadata } = value;
  const [name, namespace] = ['name', 'namespace'].map((key) => textOf(fieldsOf(metadata)[key]));
  if (textOf(kind) === '' || name === '') return undefined;
  const [group = '', version] = textOf(apiVersion).split('/');
  const within = namespace === '' ? '' : ` of the namespace ${namespace}`;
  return `${textOf(kind)}${version === undefined ? '' : `.${group}`} ${name}${within}`;
}

/** A key in the content of a ConfigMap or a Secret (Kubernetes, `IsConfigMapKey`). */
const ContentKey = z.string().regex(/^(?!\.\.|\.$)[-._A-Za-z0-9]{1,253}$/);
/** The API server takes null for an empty text. */
const contentOf = (value: z.ZodType<string | null>) =>
  z
    .record(
      ContentKey,
      value.transform((text) => text ?? ''),
      {
        error: ({ code }) =>
          code === 'invalid_key' ? 'is no key: it has letters, digits, -, _ and .' : undefined,
      },
    )
    .nullish();
const texts = contentOf(Quoted.nullable());
const isBase64 = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(
    text.replaceAll(/[\r\n]/g, ''),
  );
const encoded = contentOf(z.string('must be base64').refine(isBase64, 'must be base64').nullable());

/** Keys that a Secret of a type must have (Kubernetes, `ValidateSecret`). */
const keysOfType: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

const versionExpected = 'is expected, as v1 or apps/v1';
const kindExpected = 'is expected, one word as ConfigMap';

const namespaceRule = 'has at most 63 lower-case letters, digits and -, the first and last no -';

const isPathSegment = (name: string): boolean => !/[/%]|^\.{1,2}$/.test(name);

/** Kubernetes' groups without a domain, and the operator's. RBAC's kinds have other names too. */
const hasSubdomain = (apiVersion: string): boolean =>
  /^(?:[a-z]+\/|machineconfiguration\.openshift\.io\/)?[^/]+$/.test(apiVersion);

/**
 * An exported object has a version, with which the API server creates none, and owners by uids of
 * the other cluster, with which the garbage collector removes it.
 */
const leftOut = 'must be left out: it belongs to the cluster from which the object was exported';

/** Kinds that are not created without a namespace: bootkube has no default one. */
const namespaced: ReadonlySet<string> = new Set(
  [
    'ConfigMap Secret Service ServiceAccount Pod PersistentVolumeClaim',
    'apps/Deployment apps/DaemonSet apps/StatefulSet batch/Job batch/CronJob',
    'rbac.authorization.k8s.io/Role rbac.authorization.k8s.io/RoleBinding',
    'networking.k8s.io/NetworkPolicy networking.k8s.io/Ingress route.openshift.io/Route',
    'operators.coreos.com/CatalogSource operators.coreos.com/OperatorGroup',
    'operators.coreos.com/Subscription operator.openshift.io/IngressController',
    'machine.openshift.io/Machine machine.openshift.io/MachineSet metal3.io/BareMetalHost',
  ].flatMap((kinds) => kinds.split(' ')),
);

function isNamespaced({ apiVersion, kind }: Fields): boolean {
  const version = textOf(apiVersion);
  return namespaced.has(version.slice(0, version.lastIndexOf('/') + 1) + textOf(kind));
}

/** Namespaces that a release makes, and the bootstrap host. */
const ofRelease = /^(?:default|assisted-installer|(?:openshift|kube)(?:-.*)?)$/;

/** Fields that the API server requires of each object. */
const Manifest = z
  .looseObject({
    apiVersion: z
      .string(versionExpected)
      .regex(
        /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/,
        versionExpected,
      ),
    kind: z.string(kindExpected).regex(/^[A-Z][A-Za-z0-9]{0,62}$/, kindExpected),
    metadata: z
      .looseObject(
        {
          name: Quoted.refine(isPathSegment, {
            message: 'is no segment of a path',
            abort: true,
          }).optional(),
          generateName: Quoted.optional(),
          namespace: Quoted.refine(
            (name) => name === '' || isNamespace(name),
            namespaceRule,
          ).nullish(),
          labels: Labels,
          annotations: Annotations,
          resourceVersion: z.literal(['', '0'], leftOut).nullish(),
          ownerReferences: z.array(z.unknown()).max(0, leftOut).nullish(),
        },
        'with a name is expected',
      )
      .refine(({ name, generateName = '' }) => (name ?? generateName) !== '', {
        message: 'is expected',
        path: ['name'],
      }),
  })
  .refine(
    ({ apiVersion, metadata: { name = '' } }) =>
      name === '' || !hasSubdomain(apiVersion) || isSubdomain(name),
    { message: subdomainRule, path: ['metadata', 'name'] },
  )
  .refine(
    ({ apiVersion, kind, metadata: { namespace } }) =>
      !isNamespaced({ apiVersion, kind }) || (namespace ?? '') !== '',
    { message: 'is expected: bootkube has no default namespace', path: ['metadata', 'namespace'] },
  )
  .refine(
    ({ apiVersion, kind, metadata: { name = '' } }) =>
      apiVersion !== 'v1' || kind !== 'Namespace' || name === '' || isNamespace(name),
    { message: namespaceRule, path: ['metadata', 'name'] },
  );

const Flag = z.boolean('must be true or false, without quotes').nullish();
const Count = z.int('must be a whole number, without quotes').nullish();
const List = z.array(Quoted.nullable(), 'must be a list').nullish();
const specOf = (fields: z.ZodRawShape) =>
  Manifest.extend({ spec: z.looseObject(fields, 'must be an object').nullish() });
/** Names of images of the mirror sets; their definitions have such a pattern. */
const Place = Quoted.regex(
  /^(?:\*(?:\.[\w-]+)+|[A-Za-z0-9][\w.-]*(?::\d+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)$/,
  'must be HOST[:PORT][/PATH], without a scheme, a tag and a digest',
);
const policies = ['NeverContactSource', 'AllowContactingSource'];
const mirrorsIn = (list: string, place: z.ZodType = Place) => {
  const mirrors = z.array(place, 'must be a list').nullish();
  const ofDefinition = {
    mirrors: mirrors.refine((all) => new Set(all).size === (all ?? []).length, 'has one twice'),
    mirrorSourcePolicy: z.enum(policies, `must be one of ${policies.join(', ')}`).nullish(),
  };
  const more = place === Place ? ofDefinition : { mirrors };
  const sources = z.array(z.looseObject({ source: place, ...more }), 'must be a list');
  return specOf({ [list]: sources.nullish() });
};

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const Selector = z
  .looseObject(
    {
      matchLabels: z.record(z.string(), Quoted.nullable()).nullish(),
      matchExpressions: z
        .array(
          z.looseObject({
            key: Quoted,
            operator: z.enum(operators, `must be one of ${operators.join(', ')}`),
            values: List,
          }),
          'must be a list',
        )
        .nullish(),
    },
    'must be an object',
  )
  .nullish();

/**
 * Schemas of kinds whose content is text, and of those that the Machine Config Operator decodes in
 * a bootstrap, which ends at a value of another type (`bootstrap.go`, "error parsing").
 */
const kinds: Readonly<Record<string, z.ZodType>> = {
  'v1 Secret': Manifest.extend({
    stringData: texts,
    data: encoded,
    immutable: Flag,
    type: Quoted.nullish(),
  }).check(({ value, issues }) => {
    if (issues.length > 0) return;
    const content = secretTexts(value as Fields);
    for (const key of keysOfType[value.type ?? ''] ?? []) {
      const text = content[key];
      const isJson = !key.startsWith('.docker') || isFields(jsonIn(text ?? ''));
      if (text !== undefined && isJson) continue;
      const message = `${value.type} needs ${key}${isJson ? '' : ' with an object in JSON'}`;
      issues.push({ code: 'custom', path: ['type'], message, input: undefined });
    }
  }),
  'v1 ConfigMap': Manifest.extend({ data: texts, binaryData: encoded, immutable: Flag }),
  'machineconfiguration.openshift.io/v1 MachineConfigPool': specOf({
    paused: Flag,
    maxUnavailable: z.union([z.int(), z.string()], 'must be a number or a percentage').nullish(),
    machineConfigSelector: Selector,
    nodeSelector: Selector,
  }),
  'machineconfiguration.openshift.io/v1 KubeletConfig': specOf({
    autoSizingReserved: Flag,
    logLevel: Count,
    kubeletConfig: z.looseObject({}, 'must be an object').nullish(),
    machineConfigPoolSelector: Selector,
  }),
  'machineconfiguration.openshift.io/v1 ContainerRuntimeConfig': specOf({
    machineConfigPoolSelector: Selector,
    containerRuntimeConfig: z
      .looseObject({ pidsLimit: Count, logLevel: Quoted.nullish() }, 'must be an object')
      .nullish(),
  }),
  'config.openshift.io/v1 ImageDigestMirrorSet': mirrorsIn('imageDigestMirrors'),
  'config.openshift.io/v1 ImageTagMirrorSet': mirrorsIn('imageTagMirrors'),
  'operator.openshift.io/v1alpha1 ImageContentSourcePolicy': mirrorsIn(
    'repositoryDigestMirrors',
    Quoted,
  ),
};

function objectFindings(source: SourceObject): readonly LintFinding[] {
  const { value, place } = source;
  const { apiVersion, kind } = value;
  // bootkube creates no object at all if a List is among the manifests (the same `load`).
  if (itemsOf(value) !== undefined)
    return [
      {
        place: place(['items']),
        severity: 'error',
        message: 'a List is not possible among manifests: give each object a file of its own',
      },
    ];
  const schema = kinds[`${textOf(apiVersion)} ${textOf(kind)}`] ?? Manifest;
  const issues = schema.safeParse(value).error?.issues ?? [];
  const findings = issues.map(({ path, message }): LintFinding => {
    const at = path.filter((part) => typeof part !== 'symbol');
    return { place: place(at), severity: 'error', message: `${at.join('.')} ${message}` };
  });
  if (findings.length > 0 || !isOfOperator(source)) return findings;
  if (kind === 'MachineConfig') return lintMachineConfig(source);
  return kind === 'MachineOSConfig' ? lintOSConfig(source) : [];
}

/** Findings about Secrets and pools to which MachineOSConfigs refer and that no manifest has. */
function referencesIn(secrets: readonly KubeObject[]): readonly ManifestFinding[] {
  const files = secrets.flatMap((secret) =>
    filesOfSecret(secret).map(([file, bytes]) => ({
      path: `${secret.metadata.name}/${file}`,
      text: bytes.toString(),
    })),
  );
  const { osConfigs, pools, secrets: given } = readOsManifests(files);
  const existing = {
    pools: [...operatorPools, ...pools],
    secrets: given.map(({ secret }) => secret),
  };
  return osConfigs
    .filter(({ object }) => !isBuiltBefore(object))
    .flatMap(({ object }) => {
      const config = withoutMadeSecret(readMachineOSConfig(object));
      return referenceFindings(config, existing).map(({ path, message }) => {
        const [secret = '', place = ''] = object.place(segmentsOf(path)).split('/');
        return { secret, place, why: `${path}: ${message}`, isWarning: false };
      });
    });
}

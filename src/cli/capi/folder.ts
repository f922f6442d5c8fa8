import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifPresent, readFileOf } from '../../adapters/file-access.ts';
import { checkInstallState, installStateKeys } from '../../capi/install-state.ts';
import { findingText, type InputFinding } from '../../capi/manifests.ts';
import type { InstallFile, InstallFolder } from '../../capi/render.ts';
import { notRead } from '../../config/files.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { printError } from '../messages.ts';

/** Failures of the commands of Cluster API. */
export const capiFailures = {
  'capi.input-invalid': {
    kind: 'input',
    title: 'Files of an installation are not valid',
    hint: 'fix the files that the lines above name; nothing was written',
  },
  'capi.install-config-missing': {
    kind: 'input',
    title: 'A directory holds no install-config and no state of the installer',
    hint: 'give the directory of openshift-install with --dir',
  },
  'capi.not-written': {
    kind: 'host',
    title: 'Files of an installation cannot be written',
    hint: 'make room in the directory, or use a writable one',
  },
} as const satisfies FailureTable;

/** Builds an error of these commands. */
export const capiFailure = failuresOf(capiFailures);

/** Folder of the objects of Cluster API, within the directory of the installer. */
export const infrastructureFolder = 'infrastructure-manifests';

/** What the installer has left in its directory. */
export async function readInstallFolder(dir: string): Promise<InstallFolder> {
  const [manifests, openshift, installConfig, state] = await Promise.all([
    folderFiles(join(dir, 'manifests')),
    folderFiles(join(dir, 'openshift')),
    fileIn(dir, installStateKeys.config),
    fileIn(dir, installStateKeys.state),
  ]);
  if (installConfig === undefined && state === undefined)
    throw capiFailure(
      'capi.install-config-missing',
      `${dir} has neither ${installStateKeys.config} nor ${installStateKeys.state}`,
    );
  return {
    manifests,
    openshift,
    ...(installConfig === undefined ? {} : { installConfig }),
    ...(state === undefined ? {} : { state }),
  };
}

/** The files of a folder in the order of their names; none where there is no such folder. */
export async function folderFiles(folder: string): Promise<readonly InstallFile[]> {
  const reading = readdir(folder, { withFileTypes: true });
  const entries = await ifPresent(reading).catch(notRead(folder));
  const names = (entries ?? []).filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  const files: InstallFile[] = [];
  // One after another: there may be more than a process may have open at once.
  for (const name of names.toSorted()) {
    const path = join(folder, name);
    files.push({ name, content: await read(path).catch(notRead(path)) });
  }
  return files;
}

const fileIn = (dir: string, name: string): Promise<Uint8Array | undefined> => {
  const path = join(dir, name);
  return ifPresent(read(path)).catch(notRead(path));
};

/** A pipe in a folder is nobody's answer to a question: reading it would not end. */
const read = (at: string): Promise<Uint8Array> =>
  readFileOf({ at, kind: 'manifests', whose: 'host' });

/**
 * Findings of files, each a line on standard error. @throws AgentError `capi.input-invalid` where
 * one is an error
 */
export function refuseFindings(findings: readonly FileFinding[]): void {
  for (const { line, isWarning } of findings)
    printError(`${isWarning ? 'warning' : 'error'}: ${plainLine(line)}\n`);
  const errors = findings.filter(({ isWarning }) => !isWarning).length;
  if (errors === 0) return;
  throw capiFailure('capi.input-invalid', `${errors} of what the files say cannot be used`);
}

/** A finding with the file that it is in. */
export interface FileFinding {
  readonly line: string;
  readonly isWarning: boolean;
}

/** A finding of a Secret by the file of the directory that the Secret was made from. */
export const fileFinding = (folder: string, finding: InputFinding): FileFinding => ({
  line: findingText(finding).replace(/^data\[([^\]]*)\]/, (_, file: string) =>
    folder === '' ? file : `${folder}/${file}`,
  ),
  isWarning: finding.isWarning === true,
});

/** Findings of install-config and state. */
export const stateFindings = (
  secret: Parameters<typeof checkInstallState>[0],
): readonly FileFinding[] => checkInstallState(secret).map((finding) => fileFinding('', finding));

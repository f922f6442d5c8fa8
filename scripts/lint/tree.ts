// What must not be in the repository: names of registry hosts in lock files, paths of one machine,
// skipped tests, tests that sleep, and commands run by a shell.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface Rule {
  readonly about: string;
  readonly files: RegExp;
  readonly pattern: RegExp;
}

const rules: readonly Rule[] = [
  {
    about: 'a lock file names a host',
    files: /(^|\/)(package-lock\.json|Cargo\.lock|go\.sum|\.npmrc)$/,
    pattern: /"resolved"|registry\.npmjs|registry=|proxy\.golang/,
  },
  {
    about: 'a path of one machine',
    files: /\.(ts|js|sh|md|ya?ml|json)$|^scripts\//,
    // core is the user of CoreOS.
    pattern: /\/(home|Users)\/(?!core\b)[a-z]|\/tmp\/bash_jobs/,
  },
  {
    about: 'a test that does not run',
    files: /\.test\.ts$/,
    pattern: /\b(it|test|describe)\.(skip|todo|only|skipIf|runIf)\b/,
  },
  {
    about: 'a test waits for an event; for a limit of somebody else it says `// sleeps: WHICH`',
    files: /\.test\.ts$/,
    pattern:
      /^(?!.*\/\/ sleeps: ).*(\bsetTimeout\(|^\s*await (pause|delay|sleep|systemClock\.sleep)\()/,
  },
  {
    about: 'properties come from test/support/properties.ts, which knows the seed',
    files: /^(?!test\/support\/properties\.ts$).*\.ts$/,
    pattern: /from 'fast-check'/,
  },
  {
    about: 'a command is an argv array, never a text for a shell',
    files: /\.ts$/,
    pattern: /\bshell: (true|['"`])/,
  },
  {
    about: 'a comment is at most 100 columns wide',
    // The text of a part's file is in the name of the part: a change of it builds for an hour.
    files: /^(src|mocks|scripts\/(?!parts\/))\/?(?!.*\.test\.ts$).*\.ts$/,
    pattern: /^(?=.{101,})\s*(\/\/ (?!linear: )|\/?\*)/,
  },
];

const tracked = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
  .split('\0')
  .filter((name) => name !== '' && name !== 'scripts/lint/tree.ts');

const findings = tracked.flatMap((file) =>
  rules
    .filter(({ files }) => files.test(file))
    .flatMap(({ about, pattern }) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${about}`] : [])),
    ),
);

process.stdout.write(findings.map((finding) => `${finding}\n`).join(''));
process.exitCode = findings.length === 0 ? 0 : 1;

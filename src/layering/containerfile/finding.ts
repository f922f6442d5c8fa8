/** The rules of the lint, by names that are stable. */
export type ContainerfileRule =
  'syntax' | 'first-stage' | 'final-stage' | 'final-commit' | 'kernel-arguments' | 'lost-path';

/** Something of a Containerfile that will not do what it seems to. */
export interface ContainerfileFinding {
  readonly rule: ContainerfileRule;
  readonly severity: 'error' | 'warning';
  /** From 1. */
  readonly line: number;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** What makes the build fail, or is certain to be missing. */
export const error = (
  rule: ContainerfileRule,
  line: number,
  message: string,
): ContainerfileFinding => ({ rule, severity: 'error', line, message });

/** What is only likely to be a mistake. */
export const warning = (
  rule: ContainerfileRule,
  line: number,
  message: string,
): ContainerfileFinding => ({ rule, severity: 'warning', line, message });

/** One reason for which the API server refuses an object. */
export interface Fault {
  /** As `spec.containerFile[0].content`; empty for the whole object. */
  readonly path: string;
  /** In the server's words. */
  readonly message: string;
  /** The server asks no rule of `x-kubernetes-validations` while there is one like this. */
  readonly isBlocking: boolean;
}

/** What the server adds when it has not asked the rules. */
export const RULES_NOT_ASKED: Fault = {
  path: '',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  isBlocking: false,
};

/** The fault as it stands in the server's answer. */
export const faultText = ({ path, message }: Fault): string =>
  `${path === '' ? '<nil>' : path}: ${message}`;

/** A fault that keeps rules from being asked. */
export const blocking = (path: string, message: string): Fault => ({
  path,
  message,
  isBlocking: true,
});

/** A fault beside which the rules are asked all the same. */
export const fault = (path: string, message: string): Fault => ({
  path,
  message,
  isBlocking: false,
});

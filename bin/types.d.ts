// Types that the table of commands and the commands share.

/** An option of a command. Its name is the key under which the command lists it. */
export interface Option<T> {
  /** One letter. */
  short?: string
  /** The name of its value in the help; undefined for a flag. */
  value?: string
  help: string
  /** True if the option may be given several times. Then `read` gives a list, and the lists are joined. */
  isMany?: boolean
  /** @throws UsageError when the string is not valid */
  read (text: string): T
}

export type Options = Record<string, Option<any>>

/** The value of each option; undefined for those that were not given. */
export type Values<O extends Options> = { [Name in keyof O]?: ReturnType<O[Name]['read']> }

/** The entry of a command in the table, without the code that runs it. */
export interface Definition<O extends Options = any> {
  /** One line. */
  summary: string
  /** The operands, as in `'HASH [INPUT] [OUTPUT]'`, `'FILE...'` or `'[FILE...]'`; empty if there are none. */
  operands: string
  /** All values that the operand may have, for completion. */
  choices?: string[]
  /** True if an operand that is not called CID may be a tag, for completion. */
  hasTags?: boolean
  options: O
  /** For an option: others that must not be given with it. */
  excludes?: Partial<Record<keyof O & string, (keyof O & string)[]>>
  /** For an option: another one that must be given with it. */
  requires?: Partial<Record<keyof O & string, keyof O & string>>
  /** Paragraphs that the help shows below the options. */
  notes?: string[]
  examples: string[]
}

/** The options and operands that a command was given. */
export interface Given<O extends Options = any> {
  values: Values<O>
  operands: string[]
}

/** The code of a command whose definition is `D`. */
export type Run<D extends Definition = Definition> = (given: Given<D['options']>, context: Context) => Promise<any>

/** A definition, and a function that imports its code when the command runs. */
export interface Command extends Definition {
  load (): Promise<Run<any>>
}

/** Names of groups of commands, and the commands of each. */
export type Table = Record<string, Record<string, Command>>

export interface Context {
  /** Aborted by the first Ctrl-C. */
  signal: AbortSignal
  /** All commands, for `help` and `completion`. */
  table: Table
  /**
   * Does one of several pieces of work. If it fails, the error is printed and the program will exit with 1, but the
   * call resolves, so that the next piece is done.
   */
  attempt (work: () => Promise<unknown>): Promise<void>
  /** Makes the program exit with 1, without a message. */
  fail (): void
  /** True if an attempt has failed, or `fail` was called. */
  hasFailed (): boolean
}

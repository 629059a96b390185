// Shapes that the commands share.

/** An option of a command. Its name stands with the command that takes it. */
export interface Option<T> {
  /** One letter. */
  short?: string
  /** What stands behind it, as the help names it; a flag has nothing. */
  value?: string
  help: string
  /** @throws UsageError when the text means nothing */
  read (text: string): T
}

export type Options = Record<string, Option<any>>

/** What was given for the options: undefined when nothing was. */
export type Values<O extends Options> = { [Name in keyof O]?: ReturnType<O[Name]['read']> }

export interface Command<O extends Options = any> {
  /** One line. */
  summary: string
  /** What stands behind the command's name; several when there are several ways. */
  usage: string[]
  /** What the operands are, and how many at least and at most. */
  operands: { what: string, min: number, max: number }
  options: O
  /** Sentences below the options. */
  notes?: string[]
  examples: string[]
  run (given: { values: Values<O>, operands: string[] }, context: Context): Promise<void>
}

export interface Context {
  /** Aborted by the first Ctrl-C. */
  signal: AbortSignal
  /** Says that one of several things failed, when the rest is to be done all the same. The program will exit with 1. */
  fail (error: unknown): void
}

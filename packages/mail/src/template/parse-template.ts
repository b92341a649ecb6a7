/**
 * Parses a Liquid template in time that grows with its length.
 *
 * The library's parser takes its tokens from the front of an array. Of an array of more than about
 * 16,000 elements V8 moves all that are left each time, so a run of `{{a}}` of 512 kB took 4 s.
 */
import { type Liquid, Parser, type Template, Tokenizer, type TopLevelToken } from 'liquidjs'

/** Throws the library's own errors, with line and column. */
export function parseTemplate(engine: Liquid, source: string): Template[] {
  const tokenizer = new Tokenizer(source, engine.options.operators)
  const queue = new TokenQueue(tokenizer.readTopLevelTokens(engine.options))
  return new Parser(engine).parseTokens(queue as unknown as TopLevelToken[])
}

/** All that the parser and its tags do with the tokens that are left. */
class TokenQueue {
  readonly #tokens: readonly TopLevelToken[]
  #next = 0

  constructor(tokens: readonly TopLevelToken[]) {
    this.#tokens = tokens
  }

  get length(): number {
    return this.#tokens.length - this.#next
  }

  shift(): TopLevelToken | undefined {
    return this.#next < this.#tokens.length ? this.#tokens[this.#next++] : undefined
  }
}

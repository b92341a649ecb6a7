/**
 * Writes text as a browser would set it: white space collapses, lines and paragraphs are as far apart
 * as the largest request wants them, and none begins or ends with a space.
 */
export interface TextWriter {
  text(text: string): void
  /** With its line ends and spaces. */
  preformatted(text: string): void
  space(): void
  /** What follows begins a line, if it does not already. */
  line(): void
  /** One line end more, up to an empty line. */
  break(): void
  /** An empty line comes before what follows. */
  paragraph(): void
  rule(): void
  /** Stands before what follows, if anything does before the next prefix. */
  prefix(prefix: string): void
  end(): string
}

const LINE_ENDS_MAX = 2
const RULE = '---'
/** Nothing to see, but for hyphenation and for hiding what mail programs would preview. */
const INVISIBLE = /\u034f|[\u00ad\u200b\u2060\ufeff]|\u200c(?=\s|\u200c|$)/g
const ASCII = /^\p{ASCII}*$/u
/** But for a single space, which is what they become. */
const SPACES = /[^\S ]\s*| \s+/g
/** Pieces are joined so many at a time: each by itself is an object. */
const PIECES_MAX = 4_096

export function createTextWriter(): TextWriter {
  const joined: string[] = []
  let pieces: string[] = []
  let lineEnds = 0
  let isSpaced = false
  let prefix = ''
  let hasText = false

  function push(piece: string): void {
    pieces.push(piece)
    if (pieces.length < PIECES_MAX) return
    joined.push(pieces.join(''))
    pieces = []
  }

  function write(text: string): void {
    if (text === '') return
    if (hasText && lineEnds > 0) push('\n'.repeat(lineEnds))
    else if (hasText && isSpaced && prefix === '') push(' ')
    if (prefix !== '') push(prefix)
    push(text)
    hasText = true
    lineEnds = 0
    isSpaced = false
    prefix = ''
  }

  function breakLine(count: number): void {
    lineEnds = Math.max(lineEnds, count)
    isSpaced = false
  }

  return {
    text(text) {
      const visible = ASCII.test(text) ? text : text.replace(INVISIBLE, '')
      const spaced = visible.replace(SPACES, ' ')
      if (spaced.startsWith(' ')) isSpaced = true
      write(spaced.trim())
      if (spaced.endsWith(' ')) isSpaced = true
    },
    preformatted(text) {
      for (const [i, line] of text.split(/\r\n?|\n/).entries()) {
        if (i > 0) breakLine(Math.min(LINE_ENDS_MAX, lineEnds + 1))
        write(line.trimEnd())
      }
    },
    space() {
      isSpaced = true
    },
    line: () => breakLine(1),
    break: () => breakLine(Math.min(LINE_ENDS_MAX, lineEnds + 1)),
    paragraph: () => breakLine(LINE_ENDS_MAX),
    rule() {
      breakLine(1)
      write(RULE)
      breakLine(1)
    },
    prefix(text) {
      prefix = text
    },
    end() {
      joined.push(pieces.join(''))
      return joined.join('')
    },
  }
}

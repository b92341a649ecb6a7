/**
 * Keeps SparkPost's template language out of texts that customers wrote.
 *
 * `perform_substitutions: false` spares the bodies, but the headers still pass through the language,
 * encoded words included: `{{` in a subject would print nothing, or fail the whole message at the
 * provider. There is no way to switch that off, so such a text is given as data, and the header is a
 * reference to it: what a reference prints is not looked at again.
 */
export interface Literals {
  /** What prints the text as it is. */
  of(text: string): string
  /** What the references are to; undefined where there are none. */
  data(): Readonly<Record<string, string>> | undefined
}

export function createLiterals(): Literals {
  const texts: string[] = []
  return {
    of(text) {
      if (!text.includes('{{')) return text
      texts.push(text)
      return `{{{${nameOf(texts.length)}}}}`
    },
    data() {
      if (texts.length === 0) return undefined
      return Object.fromEntries(texts.map((text, i) => [nameOf(i + 1), text]))
    },
  }
}

function nameOf(n: number): string {
  return `postrider_literal_${n}`
}

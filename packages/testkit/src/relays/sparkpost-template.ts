/**
 * As much of SparkPost's template language as decides what becomes of `{{`: a variable's value, nothing
 * for one that is not there, a brace for the macros that stand for braces, and an error for the rest.
 */
export type Rendered =
  | { readonly kind: 'rendered'; readonly text: string }
  | { readonly kind: 'refused'; readonly description: string }

const BRACES: Readonly<Record<string, string>> = {
  'opening_single_curly()': '{',
  'closing_single_curly()': '}',
  'opening_double_curly()': '{{',
  'closing_double_curly()': '}}',
  'opening_triple_curly()': '{{{',
  'closing_triple_curly()': '}}}',
}

/** Of statements, which are not known here and never whole by themselves. */
const KEYWORDS = ['if', 'elseif', 'else', 'end', 'each', 'and', 'or', 'not', 'for', 'do', 'then']

export function renderTemplate(
  template: string,
  data: Readonly<Record<string, unknown>>,
  escapesHtml = false,
): Rendered {
  const problems: string[] = []
  const text = template.replaceAll(
    /\{\{(\{?)(.*?)(?:\}\}\}|\}\})/gs,
    (_all, triple, inner: string) => {
      const expression = inner.trim()
      const brace = BRACES[expression]
      if (brace !== undefined) return brace
      if (!/^[A-Za-z_]\w*(\.\w+)*$/.test(expression) || KEYWORDS.includes(expression)) {
        problems.push(`Error while compiling: syntax error near '${expression}'`)
        return ''
      }
      const value = textOf(find(data, expression))
      return escapesHtml && triple === '' ? escapeHtml(value) : value
    },
  )
  // What has been put in is not read again; an opening without an end is found before that.
  if (/\{\{/.test(template.replaceAll(/\{\{\{?.*?\}\}\}?/gs, '')))
    problems.push("Error while compiling: '{{' without its end")
  const [description] = problems
  return description === undefined ? { kind: 'rendered', text } : { kind: 'refused', description }
}

function find(data: unknown, path: string): unknown {
  let value = data
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.entries(value).find(([own]) => own === key)?.[1]
  }
  return value
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replaceAll(/[&<>"]/g, (c) => entities[c] ?? c)
}

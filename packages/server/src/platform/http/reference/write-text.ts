/** Text of the description as HTML: nothing of it is taken for HTML. */
import { operations } from '@postrider/contract'
import { escapeHtml } from '../page.ts'

/** As much of JSON Schema as the description has. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** Paragraphs, lists, `code` and **strong**: what the description uses of Markdown. */
export function writeMarkdown(text: string): string {
  const blocks = text.split(/\n{2,}/).filter((block) => block.trim() !== '')
  return blocks
    .map((block) => {
      const lines = block.split('\n')
      if (!lines.every((line) => line.startsWith('- '))) return `<p>${writeInline(block)}</p>`
      return `<ul>${lines.map((line) => `<li>${writeInline(line.slice(2))}</li>`).join('')}</ul>`
    })
    .join('\n')
}

export function writeInline(text: string): string {
  return text
    .split('`')
    .map((part, n) =>
      n % 2 === 1
        ? `<code>${escapeHtml(part)}</code>`
        : escapeHtml(part)
            .replaceAll(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
            .replaceAll(OPERATION, '<a href="#$&">$&</a>'),
    )
    .join('')
}

/** Names of operations, where they cannot be ordinary words. */
const OPERATION = new RegExp(
  `\\b(?:${Object.keys(operations)
    .filter((id) => /[A-Z]/.test(id))
    .join('|')})\\b`,
  'g',
)
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*/g

/** In colors: names, texts, and what else there is. */
export function writeJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2)
  let written = ''
  let at = 0
  for (const { 0: token, 1: quoted, 2: colon, index } of text.matchAll(TOKEN)) {
    written += escapeHtml(text.slice(at, index))
    at = index + token.length
    if (quoted === undefined) written += `<i>${token}</i>`
    else if (colon === undefined) written += `<q>${escapeHtml(quoted)}</q>`
    else written += `${escapeHtml(quoted)}${colon}`
  }
  return written + escapeHtml(text.slice(at))
}

/**
 * Renders the subject and the bodies of an email as Liquid templates (docs/reference/sending.md#accepting).
 *
 * The data is JSON of the tenant's own, and nothing else is within reach: no file, no partial, no
 * prototype. What is missing renders as nothing, as it does with other senders; an unknown filter or
 * tag is an error, for it is a misspelling, and so is an object where text should be. Numbers are decimal
 * (`decimal-filters.ts`). In HTML every output is escaped, save by `raw`. Dates are
 * in UTC and English, whatever the machine's. Limits end loops, joins and paddings that would take
 * long; what they do not see is ended with the thread (`template-renderer.ts`).
 */
import { Liquid, type LiquidOptions } from 'liquidjs'
import { checkHeaderText } from '../address.ts'
import { checkBodyText } from '../build-message.ts'
import { decimalFilters, sumOf } from './decimal-filters.ts'
import { parseTemplate } from './parse-template.ts'

export interface TemplateInput {
  readonly subject: string
  readonly text?: string
  readonly html?: string
  /** Left out: what Liquid says of the template is all that is asked for, and it is answered as it is. */
  readonly data?: Readonly<Record<string, unknown>>
  /** Of a rendered subject and of one rendered body, in characters. */
  readonly subjectLengthMax: number
  readonly bodyLengthMax: number
}

export type RenderedTemplate =
  | {
      readonly ok: true
      readonly subject: string
      readonly text?: string
      readonly html?: string
    }
  | TemplateFailure

export interface TemplateFailure {
  readonly ok: false
  /** What is wrong and where, for the template's author. */
  readonly problem: string
  /** It took too long; another time it may not. */
  readonly isTime: boolean
}

/** The objects of the data are changed: they have no text any more. */
export type RenderTemplate = (input: TemplateInput) => RenderedTemplate

const RENDER_MS_MAX = 500
/** In units of about a character or an array's element, over one part. */
const MEMORY_MAX = 20_000_000
const PROBLEM_CHARS_MAX = 500
/** Nothing to include: a template is all there is. */
const TAGS_WITHOUT_FILES = ['include', 'render', 'layout', 'block']
/** What would break a line of the header, or look as if. */
const WHITE_SPACE = /[\t\n\v\f\r \u0085\u2028\u2029]+/g

export function createRenderTemplate(): RenderTemplate {
  const options: LiquidOptions = {
    templates: {},
    strictFilters: true,
    strictVariables: false,
    ownPropertyOnly: true,
    timezoneOffset: 0,
    locale: 'en-US',
    renderLimit: RENDER_MS_MAX,
    memoryLimit: MEMORY_MAX,
  }
  const plain = createEngine(options)
  const escaping = createEngine({ ...options, outputEscape: 'escape' })
  return (input) => {
    const { data, subjectLengthMax, bodyLengthMax } = input
    refuseText(data)
    const parts = [
      { name: 'subject', engine: plain, source: input.subject, lengthMax: subjectLengthMax },
      { name: 'text', engine: plain, source: input.text, lengthMax: bodyLengthMax },
      { name: 'html', engine: escaping, source: input.html, lengthMax: bodyLengthMax },
    ] as const
    const rendered: { subject: string; text?: string; html?: string } = { subject: '' }
    for (const { name, engine, source, lengthMax } of parts) {
      if (source === undefined) continue
      const result = renderPart(engine, source, data)
      if (!result.ok) return { ...result, problem: `${name}: ${result.problem}` }
      if (data === undefined) {
        rendered[name] = source
        continue
      }
      const output = name === 'subject' ? oneLine(result.output) : result.output.toWellFormed()
      const problem = problemOf(name, output, lengthMax)
      if (problem !== undefined) return { ok: false, problem: `${name}: ${problem}`, isTime: false }
      rendered[name] = output
    }
    return { ok: true, ...rendered }
  }
}

function createEngine(options: LiquidOptions): Liquid {
  const engine = new Liquid(options)
  for (const tag of TAGS_WITHOUT_FILES) delete engine.tags[tag]
  for (const [name, filter] of Object.entries(decimalFilters)) engine.registerFilter(name, filter)
  const { map, group_by, group_by_exp } = engine.filters as Record<WalkName, Walk>
  engine.registerFilter('sum', function* (list: unknown, property?: unknown) {
    const values = property === undefined ? list : yield* map.call(this, list, property)
    return sumOf([values ?? []].flat() as unknown[])
  })
  for (const [name, filter] of Object.entries({ group_by, group_by_exp }))
    engine.registerFilter(name, function* (...args: unknown[]) {
      const groups: unknown = yield* filter.apply(this, args)
      refuseText(groups)
      return groups
    })
  return engine
}

/** A filter of the engine's own that looks at each element. */
type WalkName = 'map' | 'group_by' | 'group_by_exp'
type Walk = (this: unknown, ...args: unknown[]) => Generator<unknown, unknown>

/** As text an object is of no use to anybody; as a number it counts as 0, like all that is none. */
const WITHOUT_TEXT = {
  __proto__: null,
  valueOf: () => Number.NaN,
  toString() {
    throw new Error('an object cannot be printed: name one of its fields, or use the filter json')
  },
}

/** All objects in it, as deep as they are. */
function refuseText(data: unknown): void {
  const left: unknown[] = [data]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const child of Object.values(value)) left.push(child)
    if (!Array.isArray(value)) Object.setPrototypeOf(value, WITHOUT_TEXT)
  }
}

function renderPart(
  engine: Liquid,
  source: string,
  data: TemplateInput['data'] | undefined,
): { readonly ok: true; readonly output: string } | TemplateFailure {
  const startedMs = performance.now()
  try {
    const parsed = parseTemplate(engine, source)
    return { ok: true, output: data === undefined ? '' : String(engine.renderSync(parsed, data)) }
  } catch (error) {
    if (performance.now() - startedMs >= RENDER_MS_MAX)
      return { ok: false, problem: 'takes too long', isTime: true }
    const text = error instanceof Error ? error.message : String(error)
    const problem = text.replace(WHITE_SPACE, ' ').slice(0, PROBLEM_CHARS_MAX).toWellFormed()
    return { ok: false, problem, isTime: false }
  }
}

function oneLine(text: string): string {
  return text.toWellFormed().replace(WHITE_SPACE, ' ').trim()
}

function problemOf(name: string, output: string, lengthMax: number): string | undefined {
  if (output.length > lengthMax) return `renders to more than ${lengthMax} characters`
  const problem = name === 'subject' ? checkHeaderText(output) : checkBodyText(output)
  return problem && `what it renders to ${problem}`
}

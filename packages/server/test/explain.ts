/**
 * The plans of the statements that a transaction really uses, as the server has them in its session:
 * each named statement is explained by its name right after it has run.
 */
import { createRequire } from 'node:module'
import { expect } from 'vitest'
import type { Queryable, Statement, Tx } from '../src/platform/db/index.ts'

export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly PlanNode[]
}

export interface SeenPlan {
  /** Of the statement. */
  readonly name: string
  readonly values: readonly unknown[]
  readonly nodes: readonly PlanNode[]
}

/** Puts the plan of each statement into `plans`; `mode` is PostgreSQL's plan_cache_mode. */
export function explaining(tx: Tx, plans: SeenPlan[], mode: PlanMode): Tx {
  return {
    ...tx,
    async query<Row>(s: Statement | string, values: readonly unknown[] = []) {
      const result = await tx.query<Row>(s, values)
      if (typeof s === 'object' && s.name !== undefined) {
        await tx.query(`set local plan_cache_mode = ${mode}`)
        plans.push({ name: s.name, values, nodes: await planOf(tx, s.name, values) })
      }
      return result
    },
  }
}

export type PlanMode = 'auto' | 'force_generic_plan' | 'force_custom_plan'

/** The nodes of the plan; with `analyze` it is run for them. */
export async function planOf(
  q: Queryable,
  name: string,
  values: readonly unknown[],
  options = 'format json',
): Promise<PlanNode[]> {
  const literals = values.length === 0 ? '' : `(${values.map(literalOf).join()})`
  const { rows } = await q.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (${options}) execute "${name}"${literals}`,
  )
  const plan = rows[0]?.['QUERY PLAN'][0].Plan
  if (plan === undefined) throw new Error(`no plan of ${name}`)
  return nodesOf(plan)
}

/** That each of these statements was seen, and that all nodes of their plans are fine. */
export function expectPlans(
  plans: readonly SeenPlan[],
  statements: readonly string[],
  isFine: (node: PlanNode) => boolean,
): void {
  const own = plans.filter(({ name }) => statements.includes(name))
  expect(new Set(own.map(({ name }) => name))).toEqual(new Set(statements))
  const bad = own.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => !isFine(node))
      .map((node) => `${name}: ${node['Node Type']} ${node['Relation Name'] ?? ''}`),
  )
  expect([...new Set(bad)]).toEqual([])
}

export function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

/** As the driver sends it. */
const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils') as {
  prepareValue(value: unknown): string | null
}

function literalOf(value: unknown): string {
  const text = prepareValue(value instanceof Buffer ? textsOf(value) : value)
  return text === null ? 'null' : `'${String(text).replaceAll("'", "''")}'`
}

/** Of what `textArray` made. */
function textsOf(array: Buffer): (string | null)[] {
  const texts: (string | null)[] = []
  for (let at = 20; at < array.length; ) {
    const length = array.readInt32BE(at)
    texts.push(length < 0 ? null : array.toString('utf8', at + 4, at + 4 + length))
    at += 4 + Math.max(0, length)
  }
  return texts
}

/** Of a plan as text, with `analyze`: rows read by any of its steps, over all its loops, kept or not. */
export function mostRows(plan: string): number {
  let most = 0
  let loops = 1
  for (const line of plan.split('\n')) {
    const step = /rows=([\d.]+) loops=(\d+)/.exec(line)
    if (step !== null) loops = Number(step[2])
    const removed = /Rows Removed by (?:Index Recheck|Filter|Join Filter): ([\d.]+)/.exec(line)
    most = Math.max(most, Number(step?.[1] ?? removed?.[1] ?? 0) * loops)
  }
  return most
}

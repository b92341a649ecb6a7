/** Stacked bars over time: drawn as SVG in the colours of the theme, read by keys, and as a table. */
import { useElementSize } from '@mantine/hooks'
import { type KeyboardEvent, useState } from 'react'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import classes from './bar-chart.module.css'
import { axisTicks, labelledBars } from './scale.ts'
import type { Tone } from './state-mark.tsx'
import { words } from './words.ts'

export interface Series {
  readonly name: string
  readonly tone: Tone
}

export interface Bar {
  /** When it begins. */
  readonly at: string
  /** One for each series, from the bottom up. */
  readonly values: readonly number[]
}

const height = 190
const margin = { top: 10, right: 4, bottom: 24, left: 40 }
const labelWidths = { hour: 48, day: 72 }

interface Chart {
  readonly label: string
  readonly series: readonly Series[]
  readonly bars: readonly Bar[]
  /** How long a bar is: `hour` shows times, `day` shows days. */
  readonly interval: 'hour' | 'day'
}

export function BarChart(o: Chart) {
  const text = useWords(words)
  const format = useFormat()
  const nameOf = ({ at }: Bar) =>
    o.interval === 'day' ? format.day(new Date(at)) : format.dayAndTime(new Date(at))
  const { ref, width } = useElementSize()
  const [chosen, setChosen] = useState<number>()
  const [isTable, setTable] = useState(false)
  const totals = o.series.map((_, at) => sum(o.bars.map(({ values }) => values[at] ?? 0)))
  const shown = chosen === undefined ? undefined : o.bars[chosen]
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.legend}>
        {o.series.map(({ name, tone }, at) => (
          <span key={name} className={classes.entry} data-tone={tone}>
            {name} <strong>{format.integer((shown?.values ?? totals)[at] ?? 0)}</strong>
          </span>
        ))}
        <span className={classes.when} aria-live="polite">
          {shown === undefined ? '' : nameOf(shown)}
        </span>
        <button type="button" className={classes.toggle} onClick={() => setTable(!isTable)}>
          {isTable ? text.asChart : text.asTable}
        </button>
      </figcaption>
      {isTable ? (
        <BarTable {...o} nameOf={nameOf} />
      ) : (
        <div ref={ref} className={classes.drawing}>
          <Drawing {...o} totals={totals} width={width} chosen={chosen} choose={setChosen} />
        </div>
      )}
    </figure>
  )
}

function BarTable({
  label,
  series,
  bars,
  nameOf,
}: Chart & { readonly nameOf: (bar: Bar) => string }) {
  const text = useWords(words)
  const format = useFormat()
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{text.time}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map((bar) => (
            <tr key={bar.at}>
              <th scope="row">{nameOf(bar)}</th>
              {bar.values.map((value, index) => (
                <td key={series[index]?.name}>{format.integer(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Drawing({
  totals,
  width,
  chosen,
  choose,
  ...o
}: Chart & {
  readonly totals: readonly number[]
  readonly width: number
  readonly chosen: number | undefined
  readonly choose: (bar: number | undefined) => void
}) {
  const text = useWords(words)
  const format = useFormat()
  const plot = plotOf(o.bars, width)
  const isEmpty = sum(totals) === 0
  function onKeyDown(event: KeyboardEvent): void {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    choose(besideOf(chosen, by, o.bars.length))
  }
  return (
    <svg
      role="img"
      aria-label={`${o.label}: ${o.series.map(({ name }, at) => `${name} ${format.integer(totals[at] ?? 0)}`).join(', ')}`}
      width={width}
      height={height}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerMove={(event) => {
        const x = event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left
        const at = Math.floor(x / plot.step)
        choose(at >= 0 && at < o.bars.length ? at : undefined)
      }}
      onPointerLeave={() => choose(undefined)}
      onBlur={() => choose(undefined)}
    >
      {isEmpty && (
        <text
          className={classes.none}
          x={margin.left + plot.inner.width / 2}
          y={margin.top + plot.inner.height / 2}
          textAnchor="middle"
        >
          {text.nothingThen}
        </text>
      )}
      <Grid plot={plot} ticks={isEmpty ? [0] : plot.ticks} />
      <Bars {...o} plot={plot} chosen={chosen} />
    </svg>
  )
}

/** The bar that an arrow leads to. The first arrow leads to a bar at the edge. */
function besideOf(chosen: number | undefined, by: number, count: number): number {
  const from = chosen ?? (by > 0 ? -1 : count)
  return Math.max(0, Math.min(count - 1, from + by))
}

/** Sizes and places of what is drawn. */
function plotOf(bars: readonly Bar[], width: number) {
  const ticks = axisTicks(Math.max(0, ...bars.map(({ values }) => sum(values))), 3)
  const top = ticks.at(-1) ?? 1
  const inner = {
    width: Math.max(0, width - margin.left - margin.right),
    height: height - margin.top - margin.bottom,
  }
  return {
    ...{ ticks, width, inner },
    step: inner.width / Math.max(1, bars.length),
    y: (value: number) => margin.top + inner.height * (1 - value / top),
  }
}

type Plot = ReturnType<typeof plotOf>

function Grid({
  plot: { width, y },
  ticks,
}: {
  readonly plot: Plot
  readonly ticks: readonly number[]
}) {
  const format = useFormat()
  return ticks.map((tick) => (
    <g key={tick}>
      <line
        className={classes.grid}
        x1={margin.left}
        x2={width - margin.right}
        y1={y(tick)}
        y2={y(tick)}
      />
      <text className={classes.tick} x={margin.left - 8} y={y(tick) + 4} textAnchor="end">
        {format.compact(tick)}
      </text>
    </g>
  ))
}

function Bars({
  series,
  bars,
  interval,
  plot: { width, step, y },
  chosen,
}: Chart & { readonly plot: Plot; readonly chosen: number | undefined }) {
  const format = useFormat()
  const labelWidth = labelWidths[interval]
  const labelled = labelledBars(
    bars.map(({ at }) => new Date(at)),
    Math.max(1, Math.ceil(labelWidth / Math.max(1, step))),
    interval === 'day',
  )
  return bars.map(({ at, values }, index) => {
    const x = margin.left + index * step
    let below = 0
    return (
      <g
        key={at}
        data-dimmed={(chosen !== undefined && chosen !== index) || undefined}
        className={classes.bar}
      >
        {values.map((value, which) => {
          const bottom = below
          below += value
          if (value === 0) return null
          return (
            <rect
              key={series[which]?.name}
              data-tone={series[which]?.tone}
              x={x + Math.min(2, step * 0.12)}
              width={Math.max(1, step - Math.min(4, step * 0.24))}
              y={y(below)}
              height={Math.max(1, y(bottom) - y(below))}
            />
          )
        })}
        {labelled.has(index) && x + labelWidth * 0.8 < width && (
          <text className={classes.tick} x={x} y={height - 6}>
            {interval === 'day' ? format.day(new Date(at)) : format.time(new Date(at))}
          </text>
        )}
      </g>
    )
  })
}

/** A line without axes: how it went. `label` says it in words. */
export function Sparkline(o: {
  readonly label: string
  readonly values: readonly number[]
  readonly tone?: Tone
}) {
  const width = 96
  const height = 22
  const top = Math.max(1, ...o.values)
  const step = width / Math.max(1, o.values.length)
  return (
    <svg role="img" aria-label={o.label} width={width} height={height} className={classes.spark}>
      {o.values.map((value, at) => {
        const tall = value === 0 ? 1 : Math.max(2, (value / top) * height)
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a place in time is its index
            key={at}
            data-tone={value === 0 ? 'none' : (o.tone ?? 'info')}
            x={at * step}
            width={Math.max(0.8, step * 0.8)}
            y={height - tall}
            height={tall}
          />
        )
      })}
    </svg>
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

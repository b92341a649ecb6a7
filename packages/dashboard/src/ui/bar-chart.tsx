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

export function BarChart(o: {
  readonly label: string
  readonly series: readonly Series[]
  readonly bars: readonly Bar[]
  /** How long a bar is: `hour` shows times, `day` shows days. */
  readonly interval: 'hour' | 'day'
}) {
  const text = useWords(words)
  const format = useFormat()
  const { ref, width } = useElementSize()
  const [chosen, setChosen] = useState<number>()
  const [isTable, setTable] = useState(false)
  const name = (at: string) =>
    o.interval === 'day' ? format.day(new Date(at)) : format.dayAndTime(new Date(at))
  const short = (at: string) =>
    o.interval === 'day' ? format.day(new Date(at)) : format.time(new Date(at))
  const totals = o.series.map((_, at) => sum(o.bars.map(({ values }) => values[at] ?? 0)))
  const ticks = axisTicks(Math.max(0, ...o.bars.map(({ values }) => sum(values))), 3)
  const top = ticks.at(-1) ?? 1
  const labelWidth = labelWidths[o.interval]
  const isEmpty = sum(totals) === 0
  const inner = {
    width: Math.max(0, width - margin.left - margin.right),
    height: height - margin.top - margin.bottom,
  }
  const step = inner.width / Math.max(1, o.bars.length)
  const y = (value: number) => margin.top + inner.height * (1 - value / top)
  const labelled = labelledBars(
    o.bars.map(({ at }) => new Date(at)),
    Math.max(1, Math.ceil(labelWidth / Math.max(1, step))),
    o.interval === 'day',
  )
  const shown = chosen === undefined ? undefined : o.bars[chosen]
  function onKeyDown(event: KeyboardEvent): void {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    setChosen(
      Math.max(
        0,
        Math.min(
          o.bars.length - 1,
          (chosen ?? o.bars.length - (by > 0 ? o.bars.length + 1 : 0)) + by,
        ),
      ),
    )
  }
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.legend}>
        {o.series.map(({ name: title, tone }, at) => (
          <span key={title} className={classes.entry} data-tone={tone}>
            {title} <strong>{format.integer((shown?.values ?? totals)[at] ?? 0)}</strong>
          </span>
        ))}
        <span className={classes.when} aria-live="polite">
          {shown === undefined ? '' : name(shown.at)}
        </span>
        <button type="button" className={classes.toggle} onClick={() => setTable(!isTable)}>
          {isTable ? text.asChart : text.asTable}
        </button>
      </figcaption>
      {isTable ? (
        <div className={classes.scroll} tabIndex={0} role="region" aria-label={o.label}>
          <table className={classes.table}>
            <thead>
              <tr>
                <th scope="col">{text.time}</th>
                {o.series.map(({ name: title }) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {o.bars.map(({ at, values }) => (
                <tr key={at}>
                  <th scope="row">{name(at)}</th>
                  {values.map((value, index) => (
                    <td key={o.series[index]?.name}>{format.integer(value)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div ref={ref} className={classes.drawing}>
          <svg
            role="img"
            aria-label={`${o.label}: ${o.series.map(({ name: title }, at) => `${title} ${format.integer(totals[at] ?? 0)}`).join(', ')}`}
            width={width}
            height={height}
            tabIndex={0}
            onKeyDown={onKeyDown}
            onPointerMove={(event) => {
              const x =
                event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left
              const at = Math.floor(x / step)
              setChosen(at >= 0 && at < o.bars.length ? at : undefined)
            }}
            onPointerLeave={() => setChosen(undefined)}
            onBlur={() => setChosen(undefined)}
          >
            {isEmpty && (
              <text
                className={classes.none}
                x={margin.left + inner.width / 2}
                y={margin.top + inner.height / 2}
                textAnchor="middle"
              >
                {text.nothingThen}
              </text>
            )}
            {(isEmpty ? [0] : ticks).map((tick) => (
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
            ))}
            {o.bars.map(({ at, values }, index) => {
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
                        key={o.series[which]?.name}
                        data-tone={o.series[which]?.tone}
                        x={x + Math.min(2, step * 0.12)}
                        width={Math.max(1, step - Math.min(4, step * 0.24))}
                        y={y(below)}
                        height={Math.max(1, y(bottom) - y(below))}
                      />
                    )
                  })}
                  {labelled.has(index) && x + labelWidth * 0.8 < width && (
                    <text className={classes.tick} x={x} y={height - 6}>
                      {short(at)}
                    </text>
                  )}
                </g>
              )
            })}
          </svg>
        </div>
      )}
    </figure>
  )
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

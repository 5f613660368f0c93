// The axes of charts: where they begin and end. As karat.report.plots.axes.

const SAME = 1e-6; // values that differ by less than this share of them are one value
const NOTHING = 1e-300; // the smallest difference that has ticks

// The lowest and the highest value of an axis, which always differ: one value has no scale, and one tick at most.
function axisDomain(values, withZero, isSigned) {
  const known = withZero ? [...values, 0] : values;
  const [low, high] = known.length ? [known.reduce((one, other) => Math.min(one, other)), known.reduce((one, other) => Math.max(one, other))] : [0, 0];
  const largest = Math.max(Math.abs(low), Math.abs(high));
  if (high - low > Math.max(SAME * largest, NOTHING)) return [low, high];
  if (isSigned && largest <= 1) return [-1, 1];
  return low >= 0 && high <= 1 ? [0, 1] : [low - largest / 2, high + largest / 2];
}

// A specification whose axes have the domains of the rows, unless it gives one: those of panels that share them, and
// those of which all values are the same. Vega knows the others.
function withDomains({ spec, scales }, rows, isShared) {
  const layer = spec.layer.map(({ encoding, ...rest }) => ({ ...rest, encoding: { ...encoding } }));
  for (const [channel, columns] of Object.entries(scales)) {
    const { scale = {} } = layer[0].encoding[channel];
    if (scale.domain) continue;
    const values = rows.flatMap((row) => columns.map((name) => row[name])).filter((value) => typeof value === "number");
    const withZero = scale.zero ?? scale.type !== "log";
    const domain = axisDomain(values, withZero, columns.includes("difference"));
    const isWidened = domain.some((end) => !values.includes(end) && !(withZero && end === 0));
    if (!isShared && !isWidened) continue;
    for (const { encoding } of layer) {
      const axis = encoding[channel];
      if (axis && axis.value === undefined) encoding[channel] = { ...axis, scale: { nice: true, domain, ...axis.scale } };
    }
  }
  return { ...spec, layer };
}

// Panels of units have the measures of their own unit on the vertical axis.
function withMeasures({ layer, ...spec }, rows) {
  const domain = [...new Set(rows.map((row) => row.measure))];
  return { ...spec, layer: layer.map(({ encoding, ...rest }) => ({ ...rest, encoding: { ...encoding, y: { ...encoding.y, scale: { domain } } } })) };
}

//! The forward pass of a BERT over one text, in loops over numbers of double width.
//!
//! Devlin et al., 2019 (arXiv 1810.04805); the order of its steps is that of the published weights. It has no
//! batches and no padding, so it cannot mask them wrongly. It must not use what it is held against.

use sillok_sentence_model::Tiny;

type Rows = Vec<Vec<f64>>;

/// The vectors of the words of a text, one each.
pub(crate) fn words(tiny: &Tiny, ids: &[usize]) -> Rows {
    let word = rows(tiny, "embeddings.word_embeddings.weight");
    let place = rows(tiny, "embeddings.position_embeddings.weight");
    let sentence = rows(tiny, "embeddings.token_type_embeddings.weight");
    let summed = ids.iter().enumerate().map(|(at, id)| {
        let coordinates = 0..tiny.hidden;
        let sum = coordinates.map(|k| word[*id][k] + place[at][k] + sentence[0][k]);
        sum.collect()
    });
    let mut rows = norm(tiny, "embeddings.LayerNorm", summed.collect());
    for layer in 0..tiny.layers {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let heard = attention(tiny, layer, &rows);
        let heard = dense(tiny, &name("attention.output.dense"), &heard);
        rows = norm(
            tiny,
            &name("attention.output.LayerNorm"),
            plus(&heard, &rows),
        );
        let mut wide = dense(tiny, &name("intermediate.dense"), &rows);
        wide.iter_mut()
            .flatten()
            .for_each(|x| *x = activated(tiny, *x));
        let narrow = dense(tiny, &name("output.dense"), &wide);
        rows = norm(tiny, &name("output.LayerNorm"), plus(&narrow, &rows));
    }
    rows
}

/// The mean of some rows.
pub(crate) fn mean(rows: &Rows) -> Vec<f64> {
    let sum = |k: usize| rows.iter().map(|row| row[k]).sum::<f64>();
    (0..rows[0].len())
        .map(|k| sum(k) / rows.len() as f64)
        .collect()
}

/// The same direction, of length 1.
pub(crate) fn normal(row: &[f64]) -> Vec<f64> {
    let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.iter().map(|x| x / length).collect()
}

fn attention(tiny: &Tiny, layer: usize, rows: &Rows) -> Rows {
    let part = |part: &str| {
        dense(
            tiny,
            &format!("encoder.layer.{layer}.attention.self.{part}"),
            rows,
        )
    };
    let (asked, known, said) = (part("query"), part("key"), part("value"));
    let size = tiny.hidden / tiny.heads;
    let mut heard = vec![vec![0.0; tiny.hidden]; rows.len()];
    for head in 0..tiny.heads {
        let mine = head * size..(head + 1) * size;
        for (of, ask) in asked.iter().enumerate() {
            let fits = known.iter().map(|know| {
                let dot: f64 = mine.clone().map(|k| ask[k] * know[k]).sum();
                (dot / (size as f64).sqrt()).exp()
            });
            let fits: Vec<f64> = fits.collect();
            let all: f64 = fits.iter().sum();
            for k in mine.clone() {
                let weighed = fits.iter().zip(&said).map(|(fit, say)| fit / all * say[k]);
                heard[of][k] = weighed.sum();
            }
        }
    }
    heard
}

fn plus(a: &Rows, b: &Rows) -> Rows {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
    a.iter().zip(b).map(row).collect()
}

/// 2/√π · Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n+1)); behind 4.5 it is 1 to nine digits.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.5 {
        return x.signum();
    }
    let (mut power, mut sum) = (x, x);
    for n in 1..120 {
        let n = f64::from(n);
        power *= -x * x / n;
        sum += power / (2.0 * n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn values(tiny: &Tiny, name: &str) -> Vec<f64> {
    let (_, values) = &tiny.weights[name];
    values.iter().map(|value| f64::from(*value)).collect()
}

fn rows(tiny: &Tiny, name: &str) -> Rows {
    let width = tiny.weights[name].0[1];
    let values = values(tiny, name);
    values.chunks(width).map(<[f64]>::to_vec).collect()
}

/// x · Wᵀ + b
fn dense(tiny: &Tiny, name: &str, from: &Rows) -> Rows {
    let weight = rows(tiny, &format!("{name}.weight"));
    let bias = values(tiny, &format!("{name}.bias"));
    let out = |row: &Vec<f64>| {
        let each = weight.iter().zip(&bias).map(|(weight, bias)| {
            let dot: f64 = weight.iter().zip(row).map(|(w, x)| w * x).sum();
            dot + bias
        });
        each.collect()
    };
    from.iter().map(out).collect()
}

fn norm(tiny: &Tiny, name: &str, rows: Rows) -> Rows {
    let weight = values(tiny, &format!("{name}.weight"));
    let bias = values(tiny, &format!("{name}.bias"));
    let out = |row: Vec<f64>| {
        let count = row.len() as f64;
        let middle = row.iter().sum::<f64>() / count;
        let spread = row.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / count;
        let scale = (spread + 1e-12).sqrt();
        let each = row.iter().zip(weight.iter().zip(&bias));
        each.map(|(x, (w, b))| (x - middle) / scale * w + b)
            .collect()
    };
    rows.into_iter().map(out).collect()
}

fn activated(tiny: &Tiny, x: f64) -> f64 {
    match tiny.act {
        "gelu" => x * 0.5 * (1.0 + erf(x / 2.0_f64.sqrt())),
        "gelu_new" => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }
        "relu" => x.max(0.0),
        other => panic!("no activation {other}"),
    }
}

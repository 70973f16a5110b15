# gnuplot -e "csv='FILE'; out='docs/communication.svg'" test/bench/communication.gnuplot
set terminal svg size 640,380 noenhanced background "white"
set output out
set datafile separator ','
set logscale xy
set key right bottom
set xrange [2:200000]
set xlabel 'KiB, f32, 4 nodes, 1 Gbit/s'
set ylabel 'bus bandwidth, MB/s'
row(name) = sprintf("<awk -F, '$1 == \"1gbit\" && $2 == 4 && $5 == \"%s\"' %s | sort -t, -gk4", name, csv)
plot row('auto') using ($4/1024):($7/1e6) with linespoints title 'Lockstep', \
     row('mpi') using ($4/1024):($7/1e6) with linespoints title 'MPI_Allreduce', \
     row('gloo') using ($4/1024):($7/1e6) with linespoints title 'gloo'
